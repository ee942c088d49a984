"""Memories in MongoDB: one record a row, and one a user with the version of the rows.

A writer first raises the version from the one that it knows and marks the user's record as being written:
only one of several writers can. It then writes the rows, and takes the mark back. Readers and writers wait
for a marked record; the mark of a killed writer is taken back after `LONGEST_WRITE_S`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from pymongo import DeleteOne, ReplaceOne
from pymongo.errors import DuplicateKeyError

from pipeline.stores.memories import (
    MemoryChanges,
    UserMemories,
    check_user,
    memories_changed,
    record_of,
    row_of,
    turn_changed,
    user_memories,
)
from pipeline.stores.server.connections import Connections, Db, Record, in_parts
from pipeline.stores.server.conversations import delete_turns

LONGEST_WRITE_S = 20.0
POLL_S = 0.02
NEW = {"version": 0, "written_since": 0.0}
"""The record of a user of whom nothing was ever written; `written_since` is 0 while nobody writes."""


class ServerMemories:
    """Fulfils `Memories`; safe to use from several threads, processes and machines."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def users(self) -> list[str]:
        """The users that have a row, sorted by name."""
        with self._connections.mongodb() as database:
            return sorted(database["memories"].distinct("user"))

    def load(self, user: str, *, since: int = 0) -> UserMemories:
        """All rows of a user as of one moment; without rows where the version is still `since`."""
        with self._connections.mongodb() as database:
            rows: list[Record] = []
            before = _written(database, user)
            while before["version"] != since:
                rows = [*database["memories"].find({"user": user})]
                now = _written(database, user)
                if now == before:
                    break
                before = now
            return user_memories(user, before["version"], map(row_of, rows))

    def apply(self, user: str, changes: MemoryChanges, *, expected: int, erase: bool = False) -> int:  # noqa: ARG002
        """Write all changes, and return the user's new version; a kill may leave a part of them.

        Turns are deleted first, so that facts without them can be forgotten again. MongoDB's journal keeps
        the bytes of deleted records until it is used again.
        """
        check_user(user, changes)
        with self._connections.mongodb() as database:
            if not changes.changes_rows:
                if _written(database, user)["version"] != expected:
                    raise memories_changed(user)
                _change_turns(database, user, changes)
                return expected
            with _writing(database, user, expected):
                _change_turns(database, user, changes)
                _write_rows(database, user, changes)
        return expected + 1


def _written(database: Db, user: str) -> Record:
    """The user's record, once nobody writes the rows."""
    users, waited_for, deadline = database["memory_users"], 0.0, 0.0
    while True:
        record = users.find_one({"_id": user}) or {"_id": user, **NEW}
        since = record["written_since"]
        if not since:
            return record
        if since != waited_for:
            waited_for, deadline = since, time.monotonic() + LONGEST_WRITE_S
        if time.monotonic() > deadline:  # its writer was killed: its rows have another version from now on
            users.update_one(record, {"$set": {"written_since": 0.0}, "$inc": {"version": 1}})
        time.sleep(POLL_S)


@contextmanager
def _writing(database: Db, user: str, expected: int) -> Iterator[None]:
    """Be the only writer of a user's rows in the block; raises `MemoriesChanged`."""
    if _written(database, user)["version"] != expected:
        raise memories_changed(user)
    users, own = database["memory_users"], {"version": expected + 1, "written_since": time.time()}
    try:
        known = {"_id": user, "version": expected, "written_since": 0.0}
        done = users.update_one(known, {"$set": own}, upsert=expected == 0)
        if not (done.matched_count or done.upserted_id):
            raise memories_changed(user)
    except DuplicateKeyError as error:  # another writer was faster
        raise memories_changed(user) from error
    try:
        yield
    finally:
        users.update_one({"_id": user, **own}, {"$set": {"written_since": 0.0}})


def _write_rows(database: Db, user: str, changes: MemoryChanges) -> None:
    """Write the rows; removals come first, so that a crash keeps nothing that was forgotten."""
    rows = [{**record_of(row), "_id": _key(user, row.id)} for row in changes.rows]
    operations: list[DeleteOne | ReplaceOne[Record]] = [
        *(DeleteOne({"_id": _key(user, id_)}) for id_ in changes.removed),
        *(ReplaceOne({"_id": row["_id"]}, row, upsert=True) for row in rows),
    ]
    database["memories"].bulk_write(operations)  # pymongo sends it in parts below 48 MB


def _change_turns(database: Db, user: str, changes: MemoryChanges) -> None:
    """Delete turns; raises `TurnChanged` where one that the changes rest on is gone."""
    if len(_own_turns(database, user, changes.rests_on)) < len(set(changes.rests_on)):
        raise turn_changed()
    found = _own_turns(database, user, changes.removed_turns)
    for conversation_id in {turn["conversation_id"] for turn in found}:
        ids = [turn["_id"] for turn in found if turn["conversation_id"] == conversation_id]
        delete_turns(database, conversation_id, ids)
        database["conversations"].delete_one({"_id": conversation_id, "turns": 0})


def _own_turns(database: Db, user: str, turn_ids: Iterable[str]) -> Sequence[Record]:
    return [
        turn
        for some in in_parts(set(turn_ids))
        for turn in database["turns"].find({"_id": {"$in": some}, "user": user}, {"conversation_id": 1})
    ]


def _key(user: str, id_: str) -> str:
    return f"{user}\n{id_}"
