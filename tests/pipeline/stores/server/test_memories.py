"""Memories in MongoDB: no record has a byte of what was forgotten; a killed writer stops nobody."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from pipeline.stores.server import ServerAddresses
from pipeline.stores.server import memories as module
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.servers import Servers
from tests.contracts.memories import adding, memory, texts
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill

pytestmark = pytest.mark.server


def everything(addresses: ServerAddresses) -> str:
    """All records of the database, as text."""
    with closing(Servers(addresses)) as servers, servers.mongo.database() as database:
        names = sorted(database.list_collection_names())
        return "\n".join(f"{name} {record!r}" for name in names for record in database[name].find({}))


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


def test_a_version_that_a_killed_writer_left_taken_is_free_after_a_while(
    addresses: ServerAddresses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ServerMemories(addresses)) as memories, closing(Servers(addresses)) as servers:
        memories.apply("ann", adding(memory("A.")))
        with servers.mongo.collection("memory_users") as users:
            users.update_one({"_id": "ann"}, {"$set": {"taken_at": time.time()}})
        monkeypatch.setattr(module, "TAKEN_S", 0.2)
        assert texts(memories.load("ann")) == ["A."]
        assert memories.apply("ann", adding(memory("B.")), expected=1) == 2
