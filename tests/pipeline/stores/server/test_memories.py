"""Memories in MongoDB: kills between the writes of a change, records from elsewhere, what is left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pipeline.stores.erasing import Erasing
from pipeline.stores.server.memory_changes import key
from pymongo.database import Database

from pipeline.errors import ErasureIncomplete, StoreError
from pipeline.stores.memories import MemoryChanges
from pipeline.stores.server import ServerAddresses, memory_changes
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.mongo import Document
from pipeline.stores.server.servers import Servers
from tests.contracts.memories import adding, many, memory, texts
from tests.contracts.test_conversations import answer
from tests.pipeline.stores.forgotten import FORGETTING, PLAIN, SECRET, USER, fill

pytestmark = pytest.mark.server


@dataclass(frozen=True)
class Filled:
    """Both stores of one database, with the conversation that memories came from."""

    memories: ServerMemories
    conversations: ServerConversations
    conversation_id: str


@pytest.fixture
def filled(addresses: ServerAddresses) -> Iterator[Filled]:
    with (
        closing(ServerMemories(addresses)) as memories,
        closing(ServerConversations(addresses)) as conversations,
    ):
        yield Filled(memories, conversations, fill(memories, conversations))


def everything(addresses: ServerAddresses) -> str:
    """All records of the database, as text."""
    with closing(Servers(addresses)) as servers, servers.mongo.database() as database:
        names = sorted(database.list_collection_names())
        return "\n".join(f"{name} {record!r}" for name in names for record in database[name].find({}))


def test_nothing_of_what_is_forgotten_is_in_any_record(addresses: ServerAddresses, filled: Filled) -> None:
    conversations, id_ = filled.conversations, filled.conversation_id
    other = conversations.create(user=USER).info.id
    deleted = conversations.save_turn(other, answer("Who is Xanthippe?", "Nobody."))
    found = conversations.recallable(USER, [id_, other])
    conversations.keep_embeddings(
        [replace(turn, embedding=b"MARK%d" % number) for number, turn in enumerate(found)]
    )
    gone = [*PLAIN, "Xanthippe", "Nobody", "MARK0", "MARK4", deleted]
    assert {word for word in gone if word in everything(addresses)} == {*gone}
    filled.memories.forget(USER, FORGETTING, words=[SECRET], turns=[deleted])
    left = everything(addresses)
    assert [word for word in gone if word in left] == []
    assert len(filled.memories.load(USER).memories) == 12
    embeddings = [turn.embedding for turn in conversations.recallable(USER, [id_, other])]
    assert embeddings == [b"", b"MARK1", b"MARK2", b"MARK3"]


@pytest.mark.parametrize("done", [False, True])
def test_whoever_comes_next_deletes_the_turns_that_a_killed_process_left(
    filled: Filled, monkeypatch: pytest.MonkeyPatch, *, done: bool
) -> None:
    conversations, id_ = filled.conversations, filled.conversation_id
    other = conversations.create(user=USER).info.id
    last = conversations.get(id_).turns[-1]
    turns = [last.id, conversations.save_turn(other, answer())]
    before = conversations.revisions(USER)[id_]
    delete_turns = memory_changes.delete_turns

    def killed(database: Database[Document], turns: Sequence[Document]) -> None:
        if done:
            delete_turns(database, turns)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(memory_changes, "delete_turns", killed)
        with pytest.raises(KeyboardInterrupt):
            filled.memories.forget(USER, MemoryChanges(), turns=turns)
    assert filled.memories.load(USER).version > 1
    assert conversations.revisions(USER).keys() == {id_}
    assert conversations.revisions(USER)[id_] > before
    assert (conversations.get(id_).info.turns, len(conversations.get(id_).turns)) == (3, 3)


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
            rows = (memory("A.", id="a"), memory("B.", id="b"))
            assert memory_changes.commit(database, "ann", 1, adding(*rows))
            late += database["memory_changes"].find({"settled": False})
            memories.apply("ann", adding(memory("A, changed.", id="a")))
            memories.forget("ann", MemoryChanges(removed=("b",)))
            memory_changes._settle(database, late[0])
            assert database["memories"].find_one({"_id": key("ann", "b")}).keys() == {
                "_id", "user", "version", "gone"
            }  # fmt: skip
        assert texts(memories.load("ann")) == ["A, changed."]
        assert memories.version("ann") == 3


def test_a_change_that_lost_a_part_is_named(addresses: ServerAddresses) -> None:
    with closing(ServerMemories(addresses)) as memories, closing(Servers(addresses)) as servers:
        memories.apply("ann", adding(memory()))
        with servers.mongo.database() as database:
            memory_changes.commit(database, "ann", 2, adding(memory("B.")))
            database["memory_changes"].update_one({"_id": key("ann", 2)}, {"$set": {"parts": ["gone"]}})
        with pytest.raises(StoreError, match="'ann' in MongoDB are damaged"):
            memories.load("ann")


def test_what_is_written_while_words_are_overwritten_stays_and_loses_them(
    addresses: ServerAddresses, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations, id_ = filled.conversations, filled.conversation_id
    title, answer = Erasing.title, Erasing.answer

    def renamed(words: Erasing, given: str, questions: Sequence[str]) -> str:
        monkeypatch.setattr(Erasing, "title", title)
        conversations.rename(id_, f"Mine: {SECRET}")
        return title(words, given, questions)

    def rated(words: Erasing, stored: str) -> str:
        monkeypatch.setattr(Erasing, "answer", answer)
        for turn in conversations.get(id_).turns:
            conversations.set_feedback(turn.id, -1, f"No, {SECRET}!")
        return answer(words, stored)

    monkeypatch.setattr(Erasing, "title", renamed)
    monkeypatch.setattr(Erasing, "answer", rated)
    filled.memories.forget(USER, FORGETTING, words=[SECRET])
    left = conversations.get(id_)
    assert left.info.title.startswith("Mine: ")
    assert {turn.feedback_text[:4] for turn in left.turns} == {"No, "}
    assert [word for word in PLAIN if word in everything(addresses)] == []


def test_words_that_cannot_be_overwritten_yet_are_by_whoever_comes_next(
    addresses: ServerAddresses, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, answer = filled.conversations.get(filled.conversation_id).turns, Erasing.answer
    rated: list[str] = []

    def meanwhile(words: Erasing, stored: str) -> str:
        rated.append("again")
        for turn in turns:
            filled.conversations.set_feedback(turn.id, -1, " ".join(rated))
        return answer(words, stored)

    with monkeypatch.context() as patch:
        patch.setattr(Erasing, "answer", meanwhile)
        with pytest.raises(ErasureIncomplete, match="It is forgotten, but words of it"):
            filled.memories.forget(USER, FORGETTING, words=[SECRET])
    assert "48151623" in everything(addresses)
    assert len(filled.memories.load(USER).memories) == 12
    assert [word for word in PLAIN if word in everything(addresses)] == []


def test_one_users_changes_are_not_held_up_by_anothers(
    addresses: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    overwrite, late = memory_changes.overwrite, []
    with closing(ServerMemories(addresses)) as memories:

        def slow(database: Database[Document], user: str, words: Erasing) -> None:
            if user == "ann":
                other = threading.Thread(target=lambda: memories.apply("ben", adding(memory(user="ben"))))
                other.start()
                other.join(5)
                late.append(other.is_alive())
            overwrite(database, user, words)

        monkeypatch.setattr(memory_changes, "overwrite", slow)
        memories.apply("ann", adding(memory()))
        assert late == [False]
        assert memories.version("ben") == 1
