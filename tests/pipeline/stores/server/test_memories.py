"""Memories in MongoDB: no record has a byte of what was forgotten; a killed writer stops nobody."""

from __future__ import annotations

from contextlib import closing

import pytest

from pipeline.stores.memories import MemoryChanges
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server import memories as module
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.memories import ServerMemories
from tests.contracts.memories import adding, memory, texts
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill
from tests.server_stores import everything

pytestmark = pytest.mark.server


def test_no_record_has_a_byte_of_what_is_forgotten(addresses: ServerAddresses) -> None:
    with (
        closing(ServerMemories(addresses)) as memories,
        closing(ServerConversations(addresses)) as conversations,
    ):
        fill(memories, conversations)
        before = everything(addresses)
        assert all(word in before for word in FORMS)
        memories.forget(USER, FORGETTING, turns=[TURN])
        left = everything(addresses)
        assert [word for word in (*FORMS, TURN) if word in left] == []
        assert len(memories.load(USER).memories) == KEPT


def test_a_writer_that_was_killed_holds_up_others_for_a_while(
    addresses: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ServerMemories(addresses)) as memories:
        memories.apply("ann", adding(memory("A.")))
        with memories._connections.mongodb() as database:
            database["memory_writers"].insert_one({"_id": "ann", "writer": "killed"})
        monkeypatch.setattr(module, "LONGEST_WRITE_S", 0.2)
        assert texts(memories.load("ann")) == ["A."]
        assert memories.version("ann") == 2
        assert memories.apply("ann", adding(memory("B.", id="b")), expected=2) == 3


def test_a_change_of_many_megabytes_is_written(addresses: ServerAddresses) -> None:
    rows = [memory("x" * 100_000 + str(number), id=str(number)) for number in range(300)]
    with closing(ServerMemories(addresses)) as memories:
        memories.apply("ann", adding(*rows))
        assert len(memories.load("ann").memories) == len(rows)
        memories.forget("ann", MemoryChanges(removed=tuple(row.id for row in rows)))
        assert memories.load("ann").memories == ()
