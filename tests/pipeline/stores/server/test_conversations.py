"""Conversations in MongoDB: what its records look like."""

from __future__ import annotations

from contextlib import closing

import pytest

from pipeline.conversations import answer_json
from pipeline.stores.server import ServerAddresses
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.servers import Servers
from tests.contracts.test_conversations import answer

pytestmark = pytest.mark.server


def test_an_answer_that_was_stored_as_it_is_can_be_read(addresses: ServerAddresses) -> None:
    with closing(ServerConversations(addresses)) as conversations, closing(Servers(addresses)) as servers:
        id_ = conversations.create().info.id
        turn = conversations.save_turn(id_, answer())
        (packed,) = conversations.get(id_).turns
        with servers.mongo.collection("turns") as turns:
            assert isinstance(turns.find_one({"_id": turn})["answer"], bytes)
            turns.update_one({"_id": turn}, {"$set": {"answer": answer_json(packed.answer)}})
        assert conversations.get(id_).turns == (packed,)
