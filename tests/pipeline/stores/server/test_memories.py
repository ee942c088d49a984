"""Memories in MongoDB: kills between the writes of a change, records from elsewhere, what is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pipeline.errors import StoreError
from pipeline.stores.memories import MemoryChanges
from pipeline.stores.server import ServerAddresses, memory_changes
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.memory_records import key
from pipeline.stores.server.servers import Servers
from tests.contracts.memories import adding, many, memory, texts
from tests.pipeline.killing import Ingests
from tests.pipeline.stores.memory_kills import (
    FORGETTING,
    PLAIN,
    SCRIPT,
    SECRET,
    USER,
    after,
    contents,
    fill,
    kills,
    said,
    writing,
)
from tests.server_stores import server_addresses

pytestmark = pytest.mark.server

OPENED = """
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.memories import ServerMemories

WATCHED = ("server/memories.py", "server/memory_changes.py", "server/turns.py", "pymongo/synchronous/pool.py")

def opened(addresses):
    return ServerMemories(ServerAddresses(**addresses))

def is_step(file_name, event):
    return event == "call" and file_name.endswith(WATCHED)
"""


def everything(addresses: ServerAddresses) -> str:
    """All records of the database, as text."""
    with closing(Servers(addresses)) as servers, servers.mongo.database() as database:
        names = sorted(database.list_collection_names())
        return "\n".join(f"{name} {record!r}" for name in names for record in database[name].find({}))


def test_nothing_of_what_is_forgotten_is_in_any_record(addresses: ServerAddresses) -> None:
    with (
        closing(ServerMemories(addresses)) as memories,
        closing(ServerConversations(addresses)) as conversations,
    ):
        id_ = fill(memories, conversations)
        assert "4711" in everything(addresses)
        memories.forget(USER, FORGETTING, words=[SECRET])
        left = everything(addresses)
        assert [word for word in PLAIN if word in left] == []
        assert len(memories.load(USER).memories) == 12
        assert len(conversations.get(id_).turns) == 4


def test_a_change_too_large_for_a_record_is_one_change(
    addresses: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_changes, "PART_BYTES", 20_000)
    rows = many(60)
    with closing(ServerMemories(addresses)) as memories:
        assert memories.apply("ann", adding(*rows)) == 1
        assert memories.load("ann").memories == rows
    with closing(Servers(addresses)) as servers, servers.mongo.collection("memory_parts") as parts:
        assert parts.count_documents({}) == 0


def test_whoever_is_late_writes_nothing_over(addresses: ServerAddresses) -> None:
    """A writer that was stopped while it settled goes on after others have changed and forgotten its rows."""
    with closing(ServerMemories(addresses)) as memories, closing(Servers(addresses)) as servers:
        late: list[dict[str, Any]] = []
        with servers.mongo.database() as database:
            assert memory_changes.commit(
                database, "ann", 1, adding(memory("A.", id="a"), memory("B.", id="b")), []
            )
            late += database["memory_changes"].find({"settled": False})
            memories.apply("ann", adding(memory("A, changed.", id="a")))
            memories.forget("ann", MemoryChanges(removed=("b",)))
            memory_changes._settle(database, late[0])
            assert database["memories"].find_one({"_id": key("ann", "b")}).keys() == {
                "_id", "user", "version", "gone"
            }  # fmt: skip
        assert texts(memories.load("ann")) == ["A, changed."]
        assert memories.version("ann") == 3


def test_memories_of_a_newer_version_are_refused(addresses: ServerAddresses) -> None:
    with closing(ServerMemories(addresses)) as memories, closing(Servers(addresses)) as servers:
        memories.apply("ann", adding(memory()))
        with servers.mongo.collection("memory_users") as users:
            users.update_one({"_id": "ann"}, {"$set": {"format": memory_changes.FORMAT + 1}})
        for call in (lambda: memories.load("ann"), lambda: memories.apply("ann", adding(memory()))):
            with pytest.raises(
                StoreError, match=r"have format 2, this program knows up to 1\. Update Athena"
            ):
                call()


def test_a_change_that_lost_a_part_is_named(addresses: ServerAddresses) -> None:
    with closing(ServerMemories(addresses)) as memories, closing(Servers(addresses)) as servers:
        memories.apply("ann", adding(memory()))
        with servers.mongo.database() as database:
            memory_changes.commit(database, "ann", 2, adding(memory("B.")), [])
            database["memory_changes"].update_one({"_id": key("ann", 2)}, {"$set": {"parts": ["gone"]}})
        with pytest.raises(StoreError, match="'ann' in MongoDB are damaged"):
            memories.load("ann")


@pytest.mark.kill
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
class TestKills:
    def test_a_change_is_there_whole_or_not_at_all(self, processes: Ingests) -> None:
        outcomes = [outcome(kill, writing("x")) for kill in scenarios(processes, "x", number=6)]
        assert set(outcomes) == {True, False}

    def test_what_is_forgotten_is_gone_or_all_there(self, processes: Ingests) -> None:
        outcomes = [outcome(kill, FORGETTING) for kill in scenarios(processes, "forget", number=8)]
        assert set(outcomes) == {True, False}


@pytest.fixture(scope="module")
def processes() -> Iterator[Ingests]:
    processes = Ingests(OPENED + SCRIPT)
    yield processes
    processes.close()


def scenarios(processes: Ingests, what: str, *, number: int) -> Iterator[Any]:
    """Kills of a write, each with a database of its own."""
    with server_addresses() as addresses:
        prepare(addresses)
        made = kills(processes, addresses.model_dump(), what, number=number, seconds=0.3)
    for kill in made:
        with server_addresses() as addresses:
            prepare(addresses)
            yield addresses, lambda kill=kill, addresses=addresses: again(kill, addresses, what)


def prepare(addresses: ServerAddresses) -> None:
    with (
        closing(ServerMemories(addresses)) as memories,
        closing(ServerConversations(addresses)) as conversations,
    ):
        fill(memories, conversations)


def again(kill: Any, addresses: ServerAddresses, what: str) -> None:
    """The same kill in another database."""
    kill.func(kill.args[0], addresses.model_dump(), what)


def outcome(scenario: Any, changes: MemoryChanges) -> bool:
    """Whether a killed change was made; whole or not at all, and its words are where its rows are."""
    addresses, kill = scenario
    with closing(ServerMemories(addresses)) as memories:
        before = contents(memories.load(USER))
    kill()
    with (
        closing(ServerMemories(addresses)) as memories,
        closing(ServerConversations(addresses)) as conversations,
    ):
        now = contents(memories.load(USER))
        events = memories.events(USER)
        (info,) = conversations.list()
        expected = after(changes, before)
        assert now in (before, expected)
        assert len(events) == (len(changes.events) if now == expected else 0)
        if changes is FORGETTING:
            assert ("4711" in said(conversations, info.id)) == (now == before)
            assert ("4711" in everything(addresses)) == (now == before)
    return now == expected
