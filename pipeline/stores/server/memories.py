"""Memories in MongoDB: a record for each row, and for each user one with the version of the rows.

A writer takes the user's version first (compare and set), writes the rows in one ordered bulk, and then
raises the version. A writer that was killed in between leaves the version taken; after `TAKEN_S` the next
writer goes on.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from pymongo import DeleteOne, ReplaceOne
from pymongo.database import Database
from pymongo.errors import DuplicateKeyError

from pipeline.errors import StoreError
from pipeline.stores.memories import (
    MemoryChanges,
    MemoryEvent,
    Row,
    UserMemories,
    changed_meanwhile,
    check_user,
    turn_changed,
)
from pipeline.stores.memory_records import adapter, record_of, row_json, row_of, user_memories
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.conversations import delete_turns
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers

TAKEN_S = 30.0  # longer than any bulk takes
AGAIN_S = 0.02
TRIES = 2000

Db = Database[Document]


class ServerMemories:
    """Fulfils `Memories`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)

    def users(self) -> list[str]:
        """All users about whom something is stored, by name."""
        with self._servers.mongo.collection("memories") as memories:
            return sorted(memories.distinct("user"))

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for an unknown user."""
        with self._servers.mongo.database() as database:
            return _state(database, user)[0]

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        with self._servers.mongo.database() as database:
            for _ in range(TRIES):
                version, taken_at = _state(database, user)
                if time.time() - taken_at > TAKEN_S:
                    rows = [_row(record) for record in database["memories"].find({"user": user})]
                    if _state(database, user) == (version, taken_at):
                        return user_memories(user, version, rows)
                time.sleep(AGAIN_S)
        raise _too_busy(user)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; to one memory, or to all."""
        where = {"user": user} | ({"memory_id": memory_id} if memory_id else {})
        with self._servers.mongo.collection("memory_events") as events:
            records = [*events.find(where).sort([("version", 1), ("number", 1)])]
        found: list[MemoryEvent] = [adapter("event").validate_json(record["row"]) for record in records]
        return sorted(found, key=lambda event: event.at)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it, and return the new version; raises `MemoriesChanged`."""
        check_user(user, changes)
        self._servers.mongo.ensure_indexes()
        with self._servers.mongo.database() as database:
            _check_turns(database, user, changes)
            for some in chunks(changes.remembered):
                database["turns"].update_many(
                    {"_id": {"$in": some}, "user": user}, {"$set": {"remembered": True}}
                )
            if not changes.changes_rows:
                return _state(database, user)[0]
            version = _take(database, user, expected)
            try:
                _check_live(database, user, changes)
                _put(database, user, changes, version + 1)
                version += 1
            finally:
                released = {"$set": {"version": version, "taken_at": 0.0}}
                database["memory_users"].update_one({"_id": user}, released)
        return version

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, and then no record has a byte of it; MongoDB's journal keeps it for a while."""
        self.apply(user, changes, expected=expected)
        by_conversation: dict[str, list[str]] = defaultdict(list)
        with self._servers.mongo.database() as database:
            for some in chunks(turns):
                for turn in database["turns"].find(
                    {"_id": {"$in": some}, "user": user}, {"conversation_id": 1}
                ):
                    by_conversation[turn["conversation_id"]].append(turn["_id"])
            for conversation_id, ids in by_conversation.items():
                delete_turns(database, conversation_id, ids)
                database["conversations"].delete_one({"_id": conversation_id, "turns": 0})

    def close(self) -> None:
        """Release the connections."""
        self._servers.close()


def _state(database: Db, user: str) -> tuple[int, float]:
    """The version of a user's rows, and when a writer took it, 0 where none has."""
    record = database["memory_users"].find_one({"_id": user})
    return (record["version"], record["taken_at"]) if record else (0, 0.0)


def _take(database: Db, user: str, expected: int | None) -> int:
    """Take the user's version for writing; raises `MemoriesChanged` where it is not `expected`."""
    users = database["memory_users"]
    for _ in range(TRIES):
        version, taken_at = _state(database, user)
        if expected not in (None, version):
            raise changed_meanwhile(user)
        if time.time() - taken_at > TAKEN_S:
            same = {"_id": user, "version": version, "taken_at": taken_at}
            taken = {"$set": {"taken_at": time.time()}}
            try:
                if users.update_one(same, taken, upsert=version == 0 and taken_at == 0).acknowledged:
                    found = users.find_one({"_id": user})
                    if found and found["taken_at"] == taken["$set"]["taken_at"]:
                        return version
            except DuplicateKeyError:  # another writer made the record at the same moment
                pass
        time.sleep(AGAIN_S)
    raise _too_busy(user)


def _check_live(database: Db, user: str, changes: MemoryChanges) -> None:
    """Raise `MemoriesChanged` for a second valid memory of the same tier and text."""
    live = [record["live"] for record in map(record_of, changes.rows) if record["live"]]
    replaced = {*changes.removed, *(row.id for row in changes.rows)}
    for some in chunks(live):
        found = database["memories"].find({"user": user, "live": {"$in": some}}, {"id": 1})
        if any(record["id"] not in replaced for record in found):
            raise changed_meanwhile(user)
    if len(live) != len({*live}):
        raise changed_meanwhile(user)


def _put(database: Db, user: str, changes: MemoryChanges, version: int) -> None:
    memories = database["memories"]
    operations: list[Any] = [DeleteOne({"_id": _key(user, id_)}) for id_ in changes.removed]
    for row in changes.rows:
        record = record_of(row) | {"_id": _key(user, row.id)}
        operations.append(ReplaceOne({"_id": record["_id"]}, record, upsert=True))
    for some in chunks(operations):
        memories.bulk_write(some)
    events = [
        {
            "_id": _key(user, event.id), "user": user, "memory_id": event.memory_id,
            "version": version, "number": number, "row": row_json(event),
        }
        for number, event in enumerate(changes.events)
    ]  # fmt: skip
    for some_events in chunks(events):
        database["memory_events"].bulk_write(
            [ReplaceOne({"_id": event["_id"]}, event, upsert=True) for event in some_events]
        )


def _check_turns(database: Db, user: str, changes: MemoryChanges) -> None:
    """Raise `TurnChanged` where a turn that the changes were read from was deleted meanwhile."""
    wanted = {turn_id for turn_id, _ in changes.rests_on}
    for some in chunks(wanted):
        if database["turns"].count_documents({"_id": {"$in": some}, "user": user}) < len(some):
            raise turn_changed()


def _key(user: str, id_: str) -> str:
    return f"{user}\n{id_}"


def _row(record: Document) -> Row:
    return row_of(record["kind"], record["row"], record["embedding"])


def _too_busy(user: str) -> StoreError:
    return StoreError(f"The memories of '{user}' are being changed all the time.", "Try again.")
