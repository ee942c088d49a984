"""Memories in MongoDB: no record has a byte of what was forgotten; a killed writer stops nobody."""

from __future__ import annotations

import pytest

from pipeline.stores.memories import MemoryChanges
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server import memories as module
from tests.contracts.memories import adding, memory, texts
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill
from tests.server_stores import everything

pytestmark = pytest.mark.server


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
    with store._connections.mongodb() as database:
        database["memory_users"].update_one({"_id": "ann"}, {"$set": {"written_since": 5.0}})
    monkeypatch.setattr(module, "LONGEST_WRITE_S", 0.2)
    loaded = memories.load("ann")
    assert (texts(loaded), loaded.version) == (["A."], 2)
    assert memories.apply("ann", adding(memory("B.", id="b")), expected=2) == 3


def test_a_change_of_many_megabytes_is_written(store: ServerStore) -> None:
    rows = [memory("x" * 100_000 + str(number), id=str(number)) for number in range(300)]
    assert store.memories.apply("ann", adding(*rows), expected=0) == 1
    assert len(store.memories.load("ann").memories) == len(rows)
    changes = MemoryChanges(removed=tuple(row.id for row in rows))
    store.memories.apply("ann", changes, expected=1, erase=True)
    assert store.memories.load("ann").memories == ()
