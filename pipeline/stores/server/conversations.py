"""Conversations in MongoDB: a record each, and one for each turn, which also names the user."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

from pymongo.database import Database

from pipeline.errors import StoreError
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    new_revision,
    record_of,
    retitled,
    title_of,
    turn_from,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers

TRIES = 50  # of a change that others' changes get in the way of
KEPT = ("created_at", "turns", "revision", "user", "assistant")  # fields that `save` writes only once

Db = Database[Document]


class ServerConversations(Conversations):
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """The conversations of one user, or of all, the last used first."""
        if limit == 0:  # which MongoDB takes for no limit
            return []
        own: Document = {} if user is None else {"user": user}
        where: list[Document] = [own]
        if before is not None:
            same_time = {"updated_at": before.updated_at, "_id": {"$lt": before.id}}
            where.append({"$or": [{"updated_at": {"$lt": before.updated_at}}, same_time]})
        if pinned is not None:
            where.append({"pinned": pinned})
        with self._servers.mongo.database() as database:
            for word in words.casefold().split():
                has_word = {"$regex": re.escape(word), "$options": "i"}
                ids = database["turns"].distinct("conversation_id", {**own, "said": has_word})
                where.append({"$or": [{"title": has_word}, {"_id": {"$in": ids}}]})
            found = database["conversations"].find({"$and": where})
            return [
                _info(record) for record in found.sort([("updated_at", -1), ("_id", -1)]).limit(limit or 0)
            ]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id})
            if record is None:
                raise unknown_conversation(conversation_id)
            turns = database["turns"].find({"conversation_id": conversation_id}).sort("position")
            return Conversation(_info(record), tuple(map(turn_from, turns)))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            return turn_from(_found(database, turn_id))

    def unremembered(self, user: str) -> Sequence[Turn]:
        """A user's turns that the memory has not read yet, oldest first."""
        with self._servers.mongo.collection("turns") as turns:
            found = turns.find({"user": user, "remembered": False}).sort([("created_at", 1), ("position", 1)])
            return [*map(turn_from, found)]

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""
        names = ("conversation_id", "question", "told", "left_out", "created_at", "embedding", "embedded_by")
        by_conversation: dict[str, list[RecallableTurn]] = {}
        with self._servers.mongo.collection("turns") as turns:
            for some in chunks(conversation_ids):
                where = {"user": user, "conversation_id": {"$in": some}}
                for record in turns.find(where, dict.fromkeys(names, 1)).sort("position"):
                    by_conversation.setdefault(record["conversation_id"], []).append(_recallable(record))
        return [turn for id_ in conversation_ids for turn in by_conversation.get(id_, ())]

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of turns whose texts are still these; no revision rises."""
        with self._servers.mongo.collection("turns") as stored:
            for turn in turns:
                same = {"_id": turn.id, "question": turn.question, "told": turn.answer, "left_out": False}
                embedded = {"embedding": turn.embedding, "embedded_by": turn.embedded_by}
                stored.update_one(same, {"$set": embedded})

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id; not its turns."""
        record = asdict(info) | {"scope": [*info.scope], "turns": 0, "revision": new_revision()}
        record.pop("id")
        once = {name: record.pop(name) for name in KEPT}
        self._servers.mongo.ensure_indexes()
        with self._servers.mongo.collection("conversations") as conversations:
            conversations.update_one({"_id": info.id}, {"$set": record, "$setOnInsert": once}, upsert=True)

    def write(self, conversation_id: str, turn: Turn) -> None:
        """Write a turn, new at the end or in the place of the one of its id, and the time of use."""
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id})
            if record is None:
                raise unknown_conversation(conversation_id)
            fields_ = _record(turn) | {"conversation_id": conversation_id, "user": record["user"]}
            changed = {"$set": fields_, "$setOnInsert": {"position": time.time_ns()}, "$inc": {"changes": 1}}
            database["turns"].update_one({"_id": turn.id}, changed, upsert=True)
            used = {"updated_at": turn.created_at, "title": record["title"] or title_of(turn.question)}
            _count(database, conversation_id, used)

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Store what `change` makes of a turn; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            for _ in range(TRIES):
                record = _found(database, turn_id)
                same = {"_id": turn_id, "changes": record["changes"]}
                changed = {"$set": _record(change(turn_from(record))), "$inc": {"changes": 1}}
                if database["turns"].update_one(same, changed).matched_count:
                    _count(database, record["conversation_id"], {})
                    return
        raise StoreError(f"The answer '{turn_id}' is being changed all the time.", "Try again.")

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with all its turns; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            done = database["conversations"].delete_one({"_id": conversation_id})
            database["turns"].delete_many({"conversation_id": conversation_id})
            if done.deleted_count == 0:
                raise unknown_conversation(conversation_id)

    def delete_turns(self, conversation_id: str, turn_ids: Sequence[str]) -> None:
        """Remove turns of a conversation; a title that was made of one of them is made again."""
        with self._servers.mongo.database() as database:
            delete_turns(database, conversation_id, turn_ids)

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()


def delete_turns(database: Db, conversation_id: str, turn_ids: Sequence[str]) -> None:
    """Remove turns of a conversation."""
    gone: set[str] = {*turn_ids}
    named = {"question": 1}
    turns = [*database["turns"].find({"conversation_id": conversation_id}, named).sort("position")]
    for some in chunks(turn_ids):
        database["turns"].delete_many({"conversation_id": conversation_id, "_id": {"$in": some}})
    deleted = [turn["question"] for turn in turns if turn["_id"] in gone]
    left = [turn["question"] for turn in turns if turn["_id"] not in gone]
    record = database["conversations"].find_one({"_id": conversation_id})
    if record is not None:
        _count(database, conversation_id, {"title": retitled(record["title"], deleted, left)})


def _count(database: Db, conversation_id: str, values: Document) -> None:
    """Count a conversation's turns, let its revision rise and set some values."""
    turns = database["turns"].count_documents({"conversation_id": conversation_id})
    changed = {"$set": {**values, "turns": turns}, "$inc": {"revision": 1}}
    database["conversations"].update_one({"_id": conversation_id}, changed)


def _found(database: Db, turn_id: str) -> Document:
    record = database["turns"].find_one({"_id": turn_id})
    if record is None:
        raise unknown_turn(turn_id)
    return record


def _record(turn: Turn) -> Document:
    """A turn's fields; its embedding goes, because the texts may be others now."""
    return record_of(turn) | {"embedding": b"", "embedded_by": ""}


def _recallable(record: Document) -> RecallableTurn:
    hidden = record["left_out"] or record["told"] is None
    return RecallableTurn(
        id=record["_id"],
        conversation_id=record["conversation_id"],
        question="" if hidden else record["question"],
        answer="" if hidden else record["told"],
        at=record["created_at"],
        embedding=record["embedding"],
        embedded_by=record["embedded_by"],
    )


def _info(record: Document) -> ConversationInfo:
    values: dict[str, Any] = {**record, "id": record["_id"], "scope": tuple(record["scope"])}
    return ConversationInfo(**{field.name: values[field.name] for field in fields(ConversationInfo)})
