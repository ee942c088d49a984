"""Conversations and memories on MongoDB, which has no transactions here: killed and simultaneous changes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from pipeline.errors import StoreError, UnknownConversation
from pipeline.stores import memories as module
from pipeline.stores.memories import MemoryChanges
from pipeline.stores.rows import find
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.connections import FORMAT
from pipeline.stores.server.rows import ServerRows
from tests.answers import answer
from tests.contracts.memories import adding, memory, texts
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill
from tests.server_stores import everything

pytestmark = pytest.mark.server


def test_a_turn_whose_conversation_is_just_being_deleted_is_not_left_behind(store: ServerStore) -> None:
    conversations = store.conversations
    id_ = conversations.create().info.id
    turn = conversations.save_turn(id_, answer(text="", status="stopped"))
    store.rows.put("conversation", removed=[id_])  # its turns are deleted next
    with pytest.raises(UnknownConversation, match=id_):
        conversations.save_turn(id_, answer(turn_id=turn))
    assert find(store.rows, "turn", turn) is None


def test_a_conversation_that_is_half_deleted_is_listed_and_can_be_deleted_again(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left that nobody could delete any more."""
    conversations, put = store.conversations, ServerRows.put
    id_ = conversations.create().info.id
    conversations.save_turn(id_, answer())

    def killed(rows: ServerRows, kind: str, *, removed: list[str]) -> None:
        if kind == "conversation":
            pytest.fail("killed here")
        put(rows, "turn", removed=removed)

    with monkeypatch.context() as patch:
        patch.setattr(ServerRows, "put", killed)
        with pytest.raises(pytest.fail.Exception):
            conversations.delete(id_)
    assert [info.id for info in conversations.list()] == [id_]
    conversations.delete(id_)
    assert store.rows.select("conversation") == store.rows.select("turn") == []


def test_no_record_has_a_byte_of_what_is_forgotten(addresses: ServerAddresses, store: ServerStore) -> None:
    fill(store)
    before = everything(addresses)
    assert all(word in before for word in FORMS)
    store.memories.apply(USER, FORGETTING, expected=1, erase=True)
    left = everything(addresses)
    assert [word for word in (*FORMS, TURN) if word in left] == []
    assert len(store.memories.load(USER).memories) == KEPT


def test_a_writer_that_was_killed_holds_up_others_for_a_while(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = store.memories
    memories.apply("ann", adding(memory("A.")), expected=0)
    known = find(store.rows, "memory_user", "ann")
    assert known is not None
    store.rows.put("memory_user", [replace(known, at=5.0)])
    monkeypatch.setattr(module, "LONGEST_WRITE_S", 0.2)
    loaded = memories.load("ann")
    assert (texts(loaded), loaded.version) == (["A."], 2)
    assert memories.apply("ann", adding(memory("B.", id="b")), expected=2) == 3


def test_records_of_another_format_are_refused(addresses: ServerAddresses, store: ServerStore) -> None:
    with store._connections.mongodb() as database:
        formats = database["index"]
        formats.delete_one({"_id": "format"})  # the version before formats wrote none
        with closing(ServerStore(addresses)) as other, pytest.raises(StoreError, match="format 0"):
            other.conversations.list()
        formats.insert_one({"_id": "format", "number": FORMAT})


def test_a_change_of_many_megabytes_is_written(store: ServerStore) -> None:
    rows = [memory("x" * 100_000 + str(number), id=str(number)) for number in range(300)]
    assert store.memories.apply("ann", adding(*rows), expected=0) == 1
    assert len(store.memories.load("ann").memories) == len(rows)
    changes = MemoryChanges(removed=tuple(row.id for row in rows))
    store.memories.apply("ann", changes, expected=1, erase=True)
    assert store.memories.load("ann").memories == ()
