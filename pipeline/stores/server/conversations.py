"""Conversations in MongoDB: a record each, and one for each turn."""

from __future__ import annotations

import json
import time
import uuid
import zlib
from dataclasses import replace
from typing import Any

from pymongo import ReturnDocument

from pipeline.answer import Answer
from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Turn,
    answer_from,
    answer_json,
    record_of,
    title_of,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.mongo import Document
from pipeline.stores.server.servers import Servers
from pipeline.words import well_formed

# Turns in the order in which they were begun.
_ORDER = [("position", 1), ("created_at", 1)]


class ServerConversations:
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def create(self, title: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        self._servers.mongo.ensure_indexes()
        now = time.time()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0)
        with self._servers.mongo.collection("conversations") as conversations:
            conversations.insert_one(
                {"_id": info.id, "title": info.title, "created_at": now, "updated_at": now, "begun": 0}
            )
        return Conversation(info, ())

    def list(self) -> list[ConversationInfo]:
        """All conversations, the latest used first."""
        count = {"$group": {"_id": "$conversation", "turns": {"$sum": 1}}}
        with self._servers.mongo.database() as database:
            found = [*database["conversations"].find({}).sort("updated_at", -1)]
            turns = {item["_id"]: item["turns"] for item in database["turns"].aggregate([count])}
        return [_info(record, turns.get(record["_id"], 0)) for record in found]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id})
            if record is None:
                raise unknown_conversation(conversation_id)
            turns = [*database["turns"].find({"conversation": conversation_id}).sort(_ORDER)]
        return Conversation(_info(record, len(turns)), tuple(_turn(turn) for turn in turns))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        with self._servers.mongo.collection("conversations") as conversations:
            done = conversations.update_one(
                {"_id": conversation_id}, {"$set": {"title": well_formed(title.strip())}}
            )
        if done.matched_count == 0:
            raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            done = database["conversations"].delete_one({"_id": conversation_id})
            database["turns"].delete_many({"conversation": conversation_id})
        if done.deleted_count == 0:
            raise unknown_conversation(conversation_id)

    def save_turn(self, conversation_id: str, answer: Answer) -> str:
        """Write a turn, new or in the place of the one that `answer.turn_id` names; returns its id."""
        now = time.time()
        is_new = not answer.turn_id
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        written = {"status": answer.status, "answer": answer_json(answer)}
        if is_new or not self._write_over(answer, written, now):
            self._write_new(answer, written, now)
        return answer.turn_id

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back."""
        with self._servers.mongo.collection("turns") as turns:
            done = turns.update_one(
                {"_id": turn_id}, {"$set": {"feedback": value, "feedback_text": well_formed(text)}}
            )
        if done.matched_count == 0:
            raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        self._servers.mongo.ensure_indexes()
        info = conversation.info
        turns = [record_of(turn, info.id, number) for number, turn in enumerate(conversation.turns, start=1)]
        for turn in turns:
            turn["_id"] = turn.pop("id")
        kept = {"title": info.title, "created_at": info.created_at, "updated_at": info.updated_at}
        with self._servers.mongo.database() as database:
            database["turns"].delete_many({"conversation": info.id})
            if turns:
                database["turns"].insert_many(turns)
            # Last: a copy that is interrupted before this has no conversation yet, and is made again.
            database["conversations"].replace_one(
                {"_id": info.id}, {"_id": info.id, **kept, "begun": len(turns)}, upsert=True
            )

    def close(self) -> None:
        """Give up the connections; the last one in the process to do so closes them."""
        self._servers.close()

    def _write_over(self, answer: Answer, written: Document, now: float) -> bool:
        """Replace what is stored of a turn; False where nothing is."""
        with self._servers.mongo.collection("turns") as turns:
            done = turns.update_one({"_id": answer.turn_id}, {"$set": written})
            if done.matched_count == 0:
                return False
            try:
                self._use(answer, now)
            except UnknownConversation:
                turns.delete_one({"_id": answer.turn_id})
                raise
        return True

    def _write_new(self, answer: Answer, written: Document, now: float) -> None:
        """Write a turn of which nothing is stored."""
        begun = {
            "conversation": answer.conversation_id,
            "position": self._use(answer, now, begun=1),
            "question": answer.question,
            "created_at": now,
            "feedback_text": "",
        }
        with self._servers.mongo.database() as database:
            database["turns"].insert_one({"_id": answer.turn_id, **begun, **written})
            if database["conversations"].find_one({"_id": answer.conversation_id}, {"_id": 1}) is None:
                database["turns"].delete_one({"_id": answer.turn_id})
                raise unknown_conversation(answer.conversation_id)

    def _use(self, answer: Answer, now: float, *, begun: int = 0) -> int:
        """Note that a conversation is used and that `begun` turns begin now; returns how many ever began.

        Raises `UnknownConversation`.
        """
        with self._servers.mongo.collection("conversations") as conversations:
            record = conversations.find_one_and_update(
                {"_id": answer.conversation_id},
                {"$set": {"updated_at": now}, "$inc": {"begun": begun}},
                return_document=ReturnDocument.AFTER,
            )
            if record is None:
                raise unknown_conversation(answer.conversation_id)
            if not record["title"]:
                conversations.update_one(
                    {"_id": answer.conversation_id, "title": ""},
                    {"$set": {"title": title_of(answer.question)}},
                )
        return int(record["begun"])


def _info(record: Document, turns: int) -> ConversationInfo:
    return ConversationInfo(record["_id"], record["title"], record["created_at"], record["updated_at"], turns)


def _turn(record: dict[str, Any]) -> Turn:
    """A turn, also of versions that packed the answer, and kept its text beside it until it was whole."""
    stored = record["answer"]
    answer = answer_from(json.loads(stored if isinstance(stored, str) else zlib.decompress(stored)))
    return Turn(
        id=record["_id"],
        question=record["question"],
        answer=replace(answer, text=record.get("arrived", answer.text)),
        created_at=record["created_at"],
        feedback=record.get("feedback"),
        feedback_text=record.get("feedback_text", ""),
    )
