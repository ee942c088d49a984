"""Conversations in MongoDB: one record each, and one for each turn, which also names its user."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

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
from pipeline.stores.server.connections import Db, Record, connect, disconnect, in_parts

ATTEMPTS = 50
"""Changes of one turn that fail because others change it at the same time."""

WRITTEN_ONCE = ("created_at", "turns", "revision", "user", "assistant")
"""Fields of a conversation that `save` sets only for a new one."""

NOT_EMBEDDED = {"embedding": b"", "embedded_by": ""}
RECALLED = dict.fromkeys(("conversation_id", "question", "told", "created_at", "embedding", "embedded_by"), 1)


class ServerConversations(Conversations):
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._connections = connect(addresses)

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
                ids = database["turns"].distinct("conversation_id", {**own, "said": has_word})
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
            return Conversation(info, tuple(map(turn_from, turns)))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._connections.mongodb() as database:
            return turn_from(_turn(database, turn_id))

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""
        turns: defaultdict[str, list[RecallableTurn]] = defaultdict(list)
        with self._connections.mongodb() as database:
            for some in in_parts(conversation_ids):
                where = {"user": user, "conversation_id": {"$in": some}}
                for record in database["turns"].find(where, RECALLED).sort("position"):
                    turns[record["conversation_id"]].append(_recallable(record))
        return [turn for conversation_id in conversation_ids for turn in turns[conversation_id]]

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of turns whose texts are still these; no revision rises."""
        with self._connections.mongodb() as database:
            for turn in turns:
                same = {"_id": turn.id, "question": turn.question, "told": turn.answer}
                embedded = {"embedding": turn.embedding, "embedded_by": turn.embedded_by}
                database["turns"].update_one(same, {"$set": embedded})

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id; not its turns."""
        record: Record = {**asdict(info), "scope": [*info.scope], "turns": 0, "revision": new_revision()}
        id_ = record.pop("id")
        once = {name: record.pop(name) for name in WRITTEN_ONCE}
        with self._connections.mongodb() as database:
            database["conversations"].update_one(
                {"_id": id_}, {"$set": record, "$setOnInsert": once}, upsert=True
            )

    def write(self, conversation_id: str, turn: Turn) -> None:
        """Write a turn, new at the end or in the place of the one of its id, and the time of use.

        Raises `UnknownConversation`, also where the conversation is deleted at this moment.
        """
        with self._connections.mongodb() as database:
            record = _conversation(database, conversation_id)
            place = {"conversation_id": conversation_id, "user": record["user"]}
            change = {
                "$set": {**record_of(turn), **NOT_EMBEDDED, **place},
                "$setOnInsert": {"position": time.time_ns()},
                "$inc": {"changes": 1},
            }
            database["turns"].update_one({"_id": turn.id}, change, upsert=True)
            used = {"updated_at": turn.created_at, "title": record["title"] or title_of(turn.question)}
            if not _count(database, conversation_id, used):
                database["turns"].delete_one({"_id": turn.id})
                raise unknown_conversation(conversation_id)

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Store what `change` makes of a turn; raises `UnknownConversation`."""
        with self._connections.mongodb() as database:
            for _ in range(ATTEMPTS):
                record = _turn(database, turn_id)
                unchanged = {"_id": turn_id, "changes": record["changes"]}
                new = record_of(change(turn_from(record)))
                if any(new[name] != record[name] for name in ("question", "told")):
                    new |= NOT_EMBEDDED
                changed = {"$set": new, "$inc": {"changes": 1}}
                if database["turns"].update_one(unchanged, changed).matched_count:
                    if not _count(database, record["conversation_id"]):
                        database["turns"].delete_one({"_id": turn_id})
                        raise unknown_conversation(record["conversation_id"])
                    return
        raise StoreError(f"Other processes keep changing the answer '{turn_id}'.", "Try again.")

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with all its turns; raises `UnknownConversation`.

        Its turns go first: after a crash in between, it is still listed and can be deleted again. A process
        that writes a turn meanwhile finds the conversation gone, and deletes its turn.
        """
        with self._connections.mongodb() as database:
            _conversation(database, conversation_id)
            database["turns"].delete_many({"conversation_id": conversation_id})
            database["conversations"].delete_one({"_id": conversation_id})
            database["turns"].delete_many({"conversation_id": conversation_id})

    def delete_turns(self, conversation_id: str, turn_ids: Sequence[str]) -> None:
        """Remove turns of a conversation; a title that was made of one of them is made again."""
        with self._connections.mongodb() as database:
            delete_turns(database, conversation_id, turn_ids)

    def close(self) -> None:
        """Give up the connections."""
        disconnect(self._connections)


def delete_turns(database: Db, conversation_id: str, turn_ids: Iterable[str]) -> None:
    """Remove turns of a conversation; a title that was made of one of them is made again."""
    gone = set(turn_ids)
    here = {"conversation_id": conversation_id}
    turns = [*database["turns"].find(here, {"question": 1}).sort("position")]
    deleted = [turn["question"] for turn in turns if turn["_id"] in gone]
    left = [turn["question"] for turn in turns if turn["_id"] not in gone]
    record = database["conversations"].find_one({"_id": conversation_id})
    for some in in_parts(gone):
        database["turns"].delete_many({**here, "_id": {"$in": some}})
    if record is not None:
        _count(database, conversation_id, {"title": retitled(record["title"], deleted, left)})


def _count(database: Db, conversation_id: str, changes: Record | None = None) -> bool:
    """Count a conversation's turns and raise its revision; False where it was deleted."""
    turns = database["turns"].count_documents({"conversation_id": conversation_id})
    counted = {"$set": {**(changes or {}), "turns": turns}, "$inc": {"revision": 1}}
    return database["conversations"].update_one({"_id": conversation_id}, counted).matched_count > 0


def _conversation(database: Db, conversation_id: str) -> Record:
    record = database["conversations"].find_one({"_id": conversation_id})
    if record is None:
        raise unknown_conversation(conversation_id)
    return record


def _turn(database: Db, turn_id: str) -> Record:
    record = database["turns"].find_one({"_id": turn_id})
    if record is None:
        raise unknown_turn(turn_id)
    return record


def _recallable(record: Record) -> RecallableTurn:
    hidden = record["told"] is None
    return RecallableTurn(
        id=record["_id"],
        conversation_id=record["conversation_id"],
        question="" if hidden else record["question"],
        answer="" if hidden else record["told"],
        at=record["created_at"],
        embedding=record["embedding"],
        embedded_by=record["embedded_by"],
    )


def _info(record: Record) -> ConversationInfo:
    values: dict[str, Any] = {**record, "id": record["_id"], "scope": tuple(record["scope"])}
    return ConversationInfo(**{field.name: values[field.name] for field in fields(ConversationInfo)})
