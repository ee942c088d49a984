"""Conversations in MongoDB: what its records look like."""

from __future__ import annotations

import pytest
from pymongo.collection import Collection

from pipeline.errors import UnknownConversation
from pipeline.stores.server import ServerStore
from tests.answers import answer

pytestmark = pytest.mark.server


def test_a_turn_whose_conversation_is_just_being_deleted_is_not_left_behind(
    store: ServerStore,
) -> None:
    conversations = store.conversations
    id_ = conversations.create().info.id
    turn = conversations.save_turn(id_, answer(text="", status="stopped"))
    with conversations._connections.mongodb() as database:
        database["conversations"].delete_one({"_id": id_})  # its turns are deleted next
        with pytest.raises(UnknownConversation, match=id_):
            conversations.save_turn(id_, answer(turn_id=turn))
        assert database["turns"].find_one({"_id": turn}) is None


def test_a_conversation_that_is_half_deleted_is_listed_and_can_be_deleted_again(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left that nobody could delete any more."""
    conversations = store.conversations
    id_ = conversations.create().info.id
    conversations.save_turn(id_, answer())
    with monkeypatch.context() as killed:
        killed.setattr(Collection, "delete_one", lambda *_, **__: pytest.fail("killed here"))
        with pytest.raises(pytest.fail.Exception):
            conversations.delete(id_)
    assert [info.id for info in conversations.list()] == [id_]
    conversations.delete(id_)
    with conversations._connections.mongodb() as database:
        assert [database[name].count_documents({}) for name in ("conversations", "turns")] == [0, 0]


def test_a_turn_that_is_gone_is_written_again_under_its_id(store: ServerStore) -> None:
    conversations = store.conversations
    id_ = conversations.create().info.id
    turn = conversations.save_turn(id_, answer(text="", status="stopped"))
    with conversations._connections.mongodb() as database:
        database["turns"].delete_one({"_id": turn})
    assert conversations.save_turn(id_, answer(turn_id=turn)) == turn
    assert [(kept.id, kept.answer.status) for kept in conversations.get(id_).turns] == [(turn, "complete")]


def test_a_page_of_the_list_reads_no_turns(store: ServerStore) -> None:
    conversations = store.conversations
    id_ = conversations.create().info.id
    conversations.save_turn(id_, answer())
    with conversations._connections.mongodb() as database:
        database["turns"].drop()
    assert [info.turns for info in conversations.list(limit=1)] == [1]
