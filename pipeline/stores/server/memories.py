"""Memories in MongoDB: one record a row, and one a user with the version of the rows.

A writer inserts a record with the user's id, which no second writer can insert. It compares the version,
writes the rows in one ordered bulk, raises the version and deletes its record. Readers wait meanwhile. A
killed writer leaves its record: after `LONGEST_WRITE_S`, the next reader or writer deletes it.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from pymongo import DeleteOne, ReplaceOne
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
from pipeline.stores.server.connections import Db, Record, connect, disconnect, in_parts
from pipeline.stores.server.conversations import delete_turns

LONGEST_WRITE_S = 20.0
POLL_S = 0.02
ATTEMPTS = 100


class ServerMemories:
    """Fulfils `Memories`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._connections = connect(addresses)

    def users(self) -> list[str]:
        """All users about whom something is stored, by name."""
        with self._connections.mongodb() as database:
            return sorted(database["memories"].distinct("user"))

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for an unknown user."""
        with self._connections.mongodb() as database:
            return _version(database, user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        with self._connections.mongodb() as database:
            for _ in range(ATTEMPTS):
                _wait_for_writer(database, user)
                version = _version(database, user)
                rows = [_row(record) for record in database["memories"].find({"user": user})]
                if not _writer(database, user) and _version(database, user) == version:
                    return user_memories(user, version, rows)
        raise _too_busy(user)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """The changes, oldest first; of one memory, or of all."""
        where = {"user": user} | ({"memory_id": memory_id} if memory_id else {})
        with self._connections.mongodb() as database:
            records = [*database["memory_events"].find(where).sort([("version", 1), ("number", 1)])]
        events: list[MemoryEvent] = [adapter("event").validate_json(record["row"]) for record in records]
        return sorted(events, key=lambda event: event.at)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write the changes, and return the new version; raises `MemoriesChanged` and `TurnChanged`."""
        check_user(user, changes)
        with self._connections.mongodb() as database:
            _check_turns(database, user, changes.rests_on)
            if not changes:
                return _check_version(database, user, expected)
            with _writing(database, user):
                version = _check_version(database, user, expected)
                _check_live(database, user, changes)
                try:
                    _write(database, user, changes, version + 1)
                finally:  # also of a part: whoever read rows before reads them again
                    _raise_version(database, user, version)
        return version + 1

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """Delete these turns, then do as `apply`: a kill in between leaves facts that can be forgotten again.

        MongoDB's journal keeps the deleted bytes until it is reused.
        """
        by_conversation: defaultdict[str, list[str]] = defaultdict(list)
        with self._connections.mongodb() as database:
            _check_version(database, user, expected)
            for some in in_parts(turns):
                own = {"_id": {"$in": some}, "user": user}
                for turn in database["turns"].find(own, {"conversation_id": 1}):
                    by_conversation[turn["conversation_id"]].append(turn["_id"])
            for conversation_id, ids in by_conversation.items():
                delete_turns(database, conversation_id, ids)
                database["conversations"].delete_one({"_id": conversation_id, "turns": 0})
        self.apply(user, changes, expected=expected)

    def close(self) -> None:
        """Give up the connections."""
        disconnect(self._connections)


def _version(database: Db, user: str) -> int:
    record = database["memory_users"].find_one({"_id": user})
    return int(record["version"]) if record else 0


def _check_version(database: Db, user: str, expected: int | None) -> int:
    """The version of a user's rows; raises `MemoriesChanged` where another one is expected."""
    version = _version(database, user)
    if expected not in (None, version):
        raise changed_meanwhile(user)
    return version


def _raise_version(database: Db, user: str, version: int) -> None:
    database["memory_users"].update_one({"_id": user}, {"$set": {"version": version + 1}}, upsert=True)


def _writer(database: Db, user: str) -> str:
    """The writer of a user's rows at this moment; "" without one."""
    record = database["memory_writers"].find_one({"_id": user})
    return str(record["writer"]) if record else ""


@contextmanager
def _writing(database: Db, user: str) -> Iterator[None]:
    """Be the only writer of a user's rows in the block."""
    writers, own = database["memory_writers"], {"_id": user, "writer": uuid.uuid4().hex}
    for _ in range(ATTEMPTS):
        _wait_for_writer(database, user)
        try:
            writers.insert_one(own)
            break
        except DuplicateKeyError:  # another writer was faster
            continue
    else:
        raise _too_busy(user)
    try:
        yield
    finally:
        writers.delete_one(own)


def _wait_for_writer(database: Db, user: str) -> None:
    """Wait until nobody writes a user's rows, or the writer must have been killed."""
    first = writer = _writer(database, user)
    deadline = time.monotonic() + LONGEST_WRITE_S
    while writer and writer == first:
        if time.monotonic() > deadline:
            _raise_version(database, user, _version(database, user))
            database["memory_writers"].delete_one({"_id": user, "writer": writer})
            return
        time.sleep(POLL_S)
        writer = _writer(database, user)


def _write(database: Db, user: str, changes: MemoryChanges, version: int) -> None:
    """Write rows and events; removals come first, so that a crash keeps nothing that was forgotten."""
    rows = [{**record_of(row), "_id": _key(user, row.id)} for row in changes.rows]
    operations: list[DeleteOne | ReplaceOne[Record]] = [
        *(DeleteOne({"_id": _key(user, id_)}) for id_ in changes.removed),
        *(ReplaceOne({"_id": row["_id"]}, row, upsert=True) for row in rows),
    ]
    if operations:
        database["memories"].bulk_write(operations)
    events = [
        {
            "_id": _key(user, event.id),
            "user": user,
            "memory_id": event.memory_id,
            "version": version,
            "number": number,
            "row": row_json(event),
        }
        for number, event in enumerate(changes.events)
    ]
    if events:
        database["memory_events"].bulk_write(
            [ReplaceOne({"_id": event["_id"]}, event, upsert=True) for event in events]
        )


def _check_turns(database: Db, user: str, read: Sequence[tuple[str, str]]) -> None:
    """Raise `TurnChanged` where a turn that the changes were read from is gone or has another question."""
    for some in in_parts(read):
        where = {"_id": {"$in": [turn_id for turn_id, _ in some]}, "user": user}
        stored = {turn["_id"]: turn["question"] for turn in database["turns"].find(where, {"question": 1})}
        if any(stored.get(turn_id) != question for turn_id, question in some):
            raise turn_changed()


def _check_live(database: Db, user: str, changes: MemoryChanges) -> None:
    """Raise `MemoriesChanged` where two valid memories would have the same tier and text."""
    live = [record["live"] for record in map(record_of, changes.rows) if record["live"]]
    replaced = {*changes.removed, *(row.id for row in changes.rows)}
    others = [
        record["id"]
        for some in in_parts(live)
        for record in database["memories"].find({"user": user, "live": {"$in": some}}, {"id": 1})
        if record["id"] not in replaced
    ]
    if others or len(set(live)) < len(live):
        raise changed_meanwhile(user)


def _key(user: str, id_: str) -> str:
    return f"{user}\n{id_}"


def _row(record: Record) -> Row:
    return row_of(record["kind"], record["row"], record["embedding"])


def _too_busy(user: str) -> StoreError:
    return StoreError(f"Other processes keep changing the memories of '{user}'.", "Try again.")
