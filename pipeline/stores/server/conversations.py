"""Conversations in MongoDB: one record each, and one for each turn, which also names its user."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

from pymongo.errors import DuplicateKeyError

from pipeline.errors import StoreError
from pipeline.stores.conversations import (
    Change,
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    changed_turn,
    new_revision,
    recallable_of,
    title_of,
    title_without,
    turn_of,
    turn_record,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.server.connections import Connections, Db, Record, in_parts

ATTEMPTS = 50
"""Changes of one turn that fail because others change it at the same time."""

WRITTEN_ONCE = ("created_at", "turns", "revision", "user", "assistant")
"""Fields of a conversation that `save` sets only for a new one."""

NOT_RECALLED = dict.fromkeys(("answer", "versions", "searched"), 0)


class ServerConversations(Conversations):
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

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
        if limit == 0:  # MongoDB's word for no limit
            return []
        own: Record = {} if user is None else {"user": user}
        where: list[Record] = [own]
        if before is not None:
            same_time = {"updated_at": before.updated_at, "_id": {"$lt": before.id}}
            where.append({"$or": [{"updated_at": {"$lt": before.updated_at}}, same_time]})
        if pinned is not None:
            where.append({"pinned": pinned})
        with self._connections.mongodb() as database:
            for word in words.casefold().split():
                has_word = {"$regex": re.escape(word), "$options": "i"}
                ids = database["turns"].distinct("conversation_id", {**own, "searched": has_word})
                where.append({"$or": [{"title": has_word}, {"_id": {"$in": ids}}]})
            found = database["conversations"].find({"$and": where})
            latest = found.sort([("updated_at", -1), ("_id", -1)]).limit(limit or 0)
            return [_info(record) for record in latest]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        with self._connections.mongodb() as database:
            return sorted(database["conversations"].distinct("user"))

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._connections.mongodb() as database:
            info = _info(_conversation(database, conversation_id))
            turns = database["turns"].find({"conversation_id": conversation_id}).sort("position")
            return Conversation(info, tuple(map(turn_of, turns)))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._connections.mongodb() as database:
            record = database["turns"].find_one({"_id": turn_id})
        if record is None:
            raise unknown_turn(turn_id)
        return turn_of(record)

    def turns(self, user: str, *, conversations: Collection[str] | None = None) -> Sequence[RecallableTurn]:
        """The turns of a user, in the order in which they were begun."""
        parts: list[Record] = [{"user": user}]
        if conversations is not None:
            parts = [{"user": user, "conversation_id": {"$in": some}} for some in in_parts(conversations)]
        with self._connections.mongodb() as database:
            found = [record for part in parts for record in database["turns"].find(part, NOT_RECALLED)]
        return [recallable_of(record) for record in sorted(found, key=lambda record: record["position"])]

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id; not its turns."""
        record: Record = {**asdict(info), "scope": [*info.scope], "turns": 0, "revision": new_revision()}
        id_ = record.pop("id")
        once = {name: record.pop(name) for name in WRITTEN_ONCE}
        with self._connections.mongodb() as database:
            database["conversations"].update_one(
                {"_id": id_}, {"$set": record, "$setOnInsert": once}, upsert=True
            )

    def write(self, conversation_id: str, turn_id: str, change: Change) -> None:
        """Store what `change` makes of a turn; raises `UnknownConversation`.

        A conversation that is deleted meanwhile takes the turn along.
        """
        with self._connections.mongodb() as database:
            conversation = database["conversations"].find_one({"_id": conversation_id})
            if conversation is None:
                database["turns"].delete_one({"_id": turn_id, "conversation_id": conversation_id})
                raise unknown_conversation(conversation_id)
            for _ in range(ATTEMPTS):
                record = database["turns"].find_one({"_id": turn_id})
                old = turn_of(record) if record else None
                turn = changed_turn(old, change)
                if not _write_turn(database, conversation, turn, record):
                    continue
                used: Record = {}
                if old is None:
                    title = conversation["title"] or title_of(turn.question)
                    used = {"updated_at": turn.created_at, "title": title}
                if turn != old and not _count(database, conversation_id, used):
                    database["turns"].delete_one({"_id": turn_id})
                    raise unknown_conversation(conversation_id)
                return
        raise StoreError(f"Other processes keep changing the answer '{turn_id}'.", "Try again.")

    def delete(self, conversation_id: str, turn_ids: Collection[str] | None = None) -> None:
        """Delete a conversation, or only these of its turns; raises `UnknownConversation`.

        Turns go before and after their conversation: a process that writes one meanwhile finds the
        conversation gone, and deletes that turn.
        """
        with self._connections.mongodb() as database:
            if turn_ids is not None:
                delete_turns(database, conversation_id, turn_ids)
                return
            _conversation(database, conversation_id)
            database["turns"].delete_many({"conversation_id": conversation_id})
            database["conversations"].delete_one({"_id": conversation_id})
            database["turns"].delete_many({"conversation_id": conversation_id})


def delete_turns(database: Db, conversation_id: str, turn_ids: Collection[str]) -> None:
    """Delete turns of a conversation; raises `UnknownConversation`."""
    gone, here = set(turn_ids), {"conversation_id": conversation_id}
    title = _conversation(database, conversation_id)["title"]
    turns = [*database["turns"].find(here, {"question": 1}).sort("position")]
    deleted = [turn["question"] for turn in turns if turn["_id"] in gone]
    left = [turn["question"] for turn in turns if turn["_id"] not in gone]
    for some in in_parts(gone):
        database["turns"].delete_many({**here, "_id": {"$in": some}})
    _count(database, conversation_id, {"title": title_without(title, deleted, left)})


def _write_turn(database: Db, conversation: Record, turn: Turn, old: Record | None) -> bool:
    """Write a turn's record, new or in the place of `old`; False where another process was faster."""
    record = {
        **turn_record(turn),
        "_id": turn.id,
        "conversation_id": conversation["_id"],
        "user": conversation["user"],
        "position": old["position"] if old else time.time_ns(),
        "changes": old["changes"] + 1 if old else 1,
    }
    if old:
        unchanged = {"_id": turn.id, "changes": old["changes"]}
        return database["turns"].replace_one(unchanged, record).matched_count > 0
    try:
        database["turns"].insert_one(record)
    except DuplicateKeyError:
        return False
    return True


def _count(database: Db, conversation_id: str, changes: Record) -> bool:
    """Count a conversation's turns and raise its revision; False where it was deleted."""
    turns = database["turns"].count_documents({"conversation_id": conversation_id})
    counted = {"$set": {**changes, "turns": turns}, "$inc": {"revision": 1}}
    return database["conversations"].update_one({"_id": conversation_id}, counted).matched_count > 0


def _conversation(database: Db, conversation_id: str) -> Record:
    record = database["conversations"].find_one({"_id": conversation_id})
    if record is None:
        raise unknown_conversation(conversation_id)
    return record


def _info(record: Record) -> ConversationInfo:
    values: dict[str, Any] = {**record, "id": record["_id"], "scope": tuple(record["scope"])}
    return ConversationInfo(**{field.name: values[field.name] for field in fields(ConversationInfo)})
