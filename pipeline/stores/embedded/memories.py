"""Memories in the SQLite file: a row each, and a version for each user."""

from __future__ import annotations

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import ErasureIncomplete
from pipeline.stores.embedded.conversations import delete_turns
from pipeline.stores.embedded.database import BUSY_TIMEOUT_S, Database
from pipeline.stores.embedded.nodes import as_json
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

_INSERT = "INSERT INTO memory (user, id, kind, live, row, embedding) VALUES (?, ?, ?, ?, ?, ?)"
_OF_TURNS = """
    SELECT conversation_id, turn.id FROM turn JOIN conversation ON conversation.id = conversation_id
    WHERE user = ? AND turn.id IN (SELECT value FROM json_each(?))
"""

log = logging.getLogger(__name__)


class EmbeddedMemories:
    """Fulfils `Memories` on one SQLite database."""

    def __init__(self, path: Path, *, erasing_wait_s: float = BUSY_TIMEOUT_S) -> None:
        self.database = Database(path)
        self._erasing_wait_s = erasing_wait_s
        with self.database.read() as connection:
            (unfinished,) = connection.execute("SELECT erasing FROM state").fetchone()
        if unfinished:
            try:
                self.database.erase(wait_s=0)
            except ErasureIncomplete as error:
                log.warning("%s", error)

    def users(self) -> list[str]:
        """All users about whom something is stored, by name."""
        with self.database.read() as connection:
            return [row[0] for row in connection.execute("SELECT DISTINCT user FROM memory ORDER BY user")]

    def version(self, user: str) -> int:
        """A number that grows with each change of this user's rows; 0 for an unknown user."""
        with self.database.read() as connection:
            return _version(connection, user)

    def load(self, user: str) -> UserMemories:
        """All rows of a user, history included, as of one moment, the oldest first."""
        with self.database.read() as connection:
            query = "SELECT kind, row, embedding FROM memory WHERE user = ?"
            rows = [row_of(*stored) for stored in connection.execute(query, (user,))]
            return user_memories(user, _version(connection, user), rows)

    def events(self, user: str, memory_id: str = "") -> list[MemoryEvent]:
        """What was done, oldest first; to one memory, or to all."""
        query = "SELECT row FROM memory_event WHERE user = ? AND ? IN ('', memory_id) ORDER BY number"
        with self.database.read() as connection:
            rows = [row[0] for row in connection.execute(query, (user, memory_id))]
        found: list[MemoryEvent] = list(map(adapter("event").validate_json, rows))
        return sorted(found, key=lambda event: event.at)

    def apply(self, user: str, changes: MemoryChanges, *, expected: int | None = None) -> int:
        """Write all of it or nothing, and return the new version; raises `MemoriesChanged`."""
        check_user(user, changes)
        with _writing(self.database, user) as connection:
            return _write(connection, user, changes, expected=expected)

    def forget(
        self,
        user: str,
        changes: MemoryChanges,
        *,
        turns: Collection[str] = (),
        expected: int | None = None,
    ) -> None:
        """As `apply`, and then no file of the store has a byte of it; raises `ErasureIncomplete`."""
        check_user(user, changes)
        with _writing(self.database, user) as connection:
            _write(connection, user, changes, expected=expected)
            _delete_turns(connection, user, turns)
            connection.execute("UPDATE state SET erasing = 1")
        self.database.erase(wait_s=self._erasing_wait_s)

    def close(self) -> None:
        """Release the file."""
        self.database.close()


@contextmanager
def _writing(database: Database, user: str) -> Iterator[sqlite3.Connection]:
    """One transaction; raises `MemoriesChanged` for a second valid memory of the same tier and text."""
    with database.write() as connection:
        try:
            yield connection
        except sqlite3.IntegrityError as error:
            raise changed_meanwhile(user) from error


def _version(connection: sqlite3.Connection, user: str) -> int:
    row = connection.execute("SELECT version FROM memory_user WHERE user = ?", (user,)).fetchone()
    return row[0] if row else 0


def _write(connection: sqlite3.Connection, user: str, changes: MemoryChanges, *, expected: int | None) -> int:
    """Write the changes and return the version after them."""
    version = _version(connection, user)
    if expected is not None and expected != version:
        raise changed_meanwhile(user)
    _check_turns(connection, user, changes)
    if not changes:
        return version
    # Replaced rows go first: a new row may have the text of one that ends.
    gone = [(user, id_) for id_ in (*(row.id for row in changes.rows), *changes.removed)]
    connection.executemany("DELETE FROM memory WHERE user = ? AND id = ?", gone)
    connection.executemany(_INSERT, map(_stored, changes.rows))
    connection.executemany(
        "INSERT OR IGNORE INTO memory_event (user, id, memory_id, row) VALUES (?, ?, ?, ?)",
        [(user, event.id, event.memory_id, row_json(event)) for event in changes.events],
    )
    connection.execute("INSERT OR REPLACE INTO memory_user VALUES (?, ?)", (user, version + 1))
    return version + 1


def _check_turns(connection: sqlite3.Connection, user: str, changes: MemoryChanges) -> None:
    """Raise `TurnChanged` where a turn that the changes were read from was deleted meanwhile."""
    wanted = {turn_id for turn_id, _ in changes.rests_on}
    if wanted and len(connection.execute(_OF_TURNS, (user, as_json(wanted))).fetchall()) < len(wanted):
        raise turn_changed()


def _delete_turns(connection: sqlite3.Connection, user: str, turns: Collection[str]) -> None:
    """Delete turns of a user, and conversations that have no other."""
    by_conversation: dict[str, list[str]] = defaultdict(list)
    for conversation_id, turn_id in connection.execute(_OF_TURNS, (user, as_json(turns))).fetchall():
        by_conversation[conversation_id].append(turn_id)
    for conversation_id, ids in by_conversation.items():
        delete_turns(connection, conversation_id, ids)
    connection.executemany(
        "DELETE FROM conversation WHERE id = ? AND turns = 0", [(id_,) for id_ in by_conversation]
    )


def _stored(row: Row) -> Sequence[Any]:
    """A row with the columns of the table, in order."""
    record = record_of(row)
    return [record[name] for name in ("user", "id", "kind", "live", "row", "embedding")]
