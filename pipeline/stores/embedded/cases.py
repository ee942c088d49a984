"""Cases in the SQLite file: a row each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from pipeline.stores.cases import Case, Cases, case_from, case_json, case_without
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.database import ConnectionPool, transaction
from pipeline.stores.erasing import Erasing

_SELECT = "SELECT row FROM eval_case WHERE user = coalesce(?, user) ORDER BY created_at, id"
_PUT = "INSERT OR REPLACE INTO eval_case (id, user, conversation_id, created_at, row) VALUES (?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM eval_case WHERE id = ?"


class EmbeddedCases(Cases):
    """Fulfils `Cases` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool = ConnectionPool(path)

    def put(self, *cases: Case) -> None:
        """Write cases whole, each in the place of one of its id."""
        with self._pool.borrow() as connection, transaction(connection):
            connection.executemany(_PUT, map(_row, cases))

    def change(self, case_id: str, change: Callable[[Case], Case]) -> None:
        """Store what `change` makes of a case as it is at that moment; nothing where it is gone."""
        with self._pool.borrow() as connection, transaction(connection):
            found = connection.execute("SELECT row FROM eval_case WHERE id = ?", (case_id,)).fetchone()
            if found is not None:
                connection.execute(_PUT, _row(change(_case(found[0]))))

    def list(self, user: str | None = None) -> Sequence[Case]:
        """Those of a user, or of all, the oldest first."""
        with self._pool.borrow() as connection:
            return [_case(row) for (row,) in connection.execute(_SELECT, (user,)).fetchall()]

    def delete(self, *ids: str) -> None:
        """Remove cases; one that is gone already is nothing to raise for."""
        with self._pool.borrow() as connection, transaction(connection):
            connection.executemany(_DELETE, [(id_,) for id_ in ids])

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


def overwrite_cases(connection: sqlite3.Connection, user: str, words: Erasing) -> None:
    """Overwrite words in the cases of a user, within a transaction."""
    rows = connection.execute("SELECT id, row FROM eval_case WHERE user = ?", (user,)).fetchall()
    changed = [(found, id_) for id_, row in rows if (found := case_without(row, words)) is not None]
    connection.executemany("UPDATE eval_case SET row = ? WHERE id = ?", changed)


def delete_cases_of(connection: sqlite3.Connection, conversation_id: str, said: Collection[str]) -> list[str]:
    """Delete the cases of a conversation that repeat what was said, within a transaction; what they had."""
    query = "SELECT id, row FROM eval_case WHERE conversation_id = ?"
    rows = connection.execute(query, (conversation_id,)).fetchall()
    gone = [(id_, row) for id_, row in rows if _case(row).says(said)]
    connection.executemany(_DELETE, [(id_,) for id_, _ in gone])
    return [row for _, row in gone]


def drop_damaged_cases(connection: sqlite3.Connection) -> None:
    """Delete the cases that cannot be read."""
    for number, row in connection.execute("SELECT rowid, row FROM eval_case").fetchall():
        try:
            _case(row)
        except Damaged:
            connection.execute("DELETE FROM eval_case WHERE rowid = ?", (number,))


def _row(case: Case) -> tuple[str, str, str, float, str]:
    return case.id, case.user, case.conversation_id, case.created_at, case_json(case)


def _case(row: Any) -> Case:
    try:
        return case_from(row)
    except ValueError as error:
        raise Damaged("a row of the table 'eval_case' is not as it was written") from error
