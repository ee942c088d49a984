"""Memories in the SQLite file: a row each, and a version for each user."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Collection

from pipeline.errors import ErasureIncomplete
from pipeline.stores.embedded.conversations import delete_turns
from pipeline.stores.embedded.database import BUSY_TIMEOUT_S, Database, as_json
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

_COLUMNS = ("user", "id", "kind", "row", "embedding")
_WRITE = f"INSERT OR REPLACE INTO memory VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"
_OF_TURNS = """
    SELECT conversation_id, turn.id FROM turn JOIN conversation ON conversation.id = conversation_id
    WHERE user = ? AND turn.id IN (SELECT value FROM json_each(?))
"""

log = logging.getLogger(__name__)


class EmbeddedMemories:
    """Fulfils `Memories` on one SQLite file; an erasure that was interrupted goes on when it is opened."""

    def __init__(self, database: Database, *, erasing_wait_s: float = BUSY_TIMEOUT_S) -> None:
        self._database = database
        self._erasing_wait_s = erasing_wait_s
        with database.read() as connection:
            (unfinished,) = connection.execute("SELECT erasing FROM state").fetchone()
        if unfinished:
            try:
                database.erase(wait_s=0)
            except ErasureIncomplete as error:
                log.warning("%s", error)

    def users(self) -> list[str]:
        """The users that have a row, sorted by name."""
        with self._database.read() as connection:
            return [row[0] for row in connection.execute("SELECT DISTINCT user FROM memory ORDER BY user")]

    def load(self, user: str, *, since: int = 0) -> UserMemories:
        """All rows of a user as of one moment; without rows where the version is still `since`."""
        with self._database.read() as connection:
            version = _version(connection, user)
            if version == since:
                return UserMemories(user=user, version=version)
            query = f"SELECT {', '.join(_COLUMNS)} FROM memory WHERE user = ?"
            records = (dict(zip(_COLUMNS, row, strict=True)) for row in connection.execute(query, (user,)))
            return user_memories(user, version, map(row_of, records))

    def apply(self, user: str, changes: MemoryChanges, *, expected: int, erase: bool = False) -> int:
        """Write all changes or none, and return the user's new version."""
        check_user(user, changes)
        with self._database.write() as connection:
            version = _write(connection, user, changes, expected=expected)
            if erase:
                connection.execute("UPDATE state SET erasing = 1")
        if erase:
            self._database.erase(wait_s=self._erasing_wait_s)
        return version


def _version(connection: sqlite3.Connection, user: str) -> int:
    row = connection.execute("SELECT version FROM memory_user WHERE user = ?", (user,)).fetchone()
    return row[0] if row else 0


def _write(connection: sqlite3.Connection, user: str, changes: MemoryChanges, *, expected: int) -> int:
    if _version(connection, user) != expected:
        raise memories_changed(user)
    wanted = set(changes.rests_on)
    if wanted and len(connection.execute(_OF_TURNS, (user, as_json(wanted))).fetchall()) < len(wanted):
        raise turn_changed()
    _delete_turns(connection, user, changes.removed_turns)
    if not changes.changes_rows:
        return expected
    gone = [(user, id_) for id_ in changes.removed]
    connection.executemany("DELETE FROM memory WHERE user = ? AND id = ?", gone)
    connection.executemany(_WRITE, map(record_of, changes.rows))
    connection.execute("INSERT OR REPLACE INTO memory_user VALUES (?, ?)", (user, expected + 1))
    return expected + 1


def _delete_turns(connection: sqlite3.Connection, user: str, turns: Collection[str]) -> None:
    """Delete turns of a user, and conversations that have no other."""
    found = connection.execute(_OF_TURNS, (user, as_json(turns))).fetchall()
    for conversation_id in {row[0] for row in found}:
        ids = [turn_id for owner, turn_id in found if owner == conversation_id]
        delete_turns(connection, conversation_id, ids)
        connection.execute("DELETE FROM conversation WHERE id = ? AND turns = 0", (conversation_id,))
