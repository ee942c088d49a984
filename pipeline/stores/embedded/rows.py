"""`Rows` in the SQLite file: one table for each kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, fields
from typing import Unpack

from pipeline.stores.embedded.database import Database, as_json
from pipeline.stores.rows import Kind, Row, Where

_NAMES = [field.name for field in fields(Row)]
_COLUMNS = ", ".join(f'"{name}"' for name in _NAMES)
_VALUES = ", ".join(f":{name}" for name in _NAMES)
_CHANGES = ", ".join(f'"{name}" = :{name}' for name in _NAMES)
_WITHOUT_BODY = _COLUMNS.replace('"body"', "''")
_AMONG = "IN (SELECT value FROM json_each(?))"


class EmbeddedRows:
    """Implements `Rows` on one SQLite file; with a `connection`, inside its transaction."""

    def __init__(self, database: Database, connection: sqlite3.Connection | None = None) -> None:
        self._database = database
        self._connection = connection

    def select(
        self, kind: Kind, *, limit: int | None = None, whole: bool = False, **where: Unpack[Where]
    ) -> list[Row]:
        """Return the rows that fulfil all conditions, highest `at` and id first."""
        given: dict[str, object] = {"instr(text, ?)": where.get("text", "")}
        if (user := where.get("user")) is not None:
            given["user = ?"] = user
        if (ids := where.get("ids")) is not None:
            given[f"id {_AMONG}"] = as_json(ids)
        if (groups := where.get("groups")) is not None:
            given[f'"group" {_AMONG}'] = as_json(groups)
        query = f"""
            SELECT {_COLUMNS if whole else _WITHOUT_BODY} FROM {kind} WHERE {" AND ".join(given)}
            ORDER BY at DESC, id DESC LIMIT ?
        """
        with self._reading() as connection:
            found = connection.execute(query, (*given.values(), -1 if limit is None else limit))
            return [Row(**dict(zip(_NAMES, values, strict=True))) for values in found]

    def swap(self, kind: Kind, row: Row, *, expected: int) -> bool:
        """Write a row if the stored version is `expected` (0: none stored); return whether it was written."""
        write = f"UPDATE {kind} SET {_CHANGES} WHERE id = :id AND version = :expected"
        if expected == 0:
            write = f"INSERT OR IGNORE INTO {kind} ({_COLUMNS}) VALUES ({_VALUES})"
        with self._writing() as connection:
            return connection.execute(write, {**asdict(row), "expected": expected}).rowcount > 0

    def put(self, kind: Kind, rows: Sequence[Row] = (), *, removed: Collection[str] = ()) -> None:
        """Delete the rows with the ids `removed` and write others, replacing rows with the same ids."""
        with self._writing() as connection:
            connection.execute(f"DELETE FROM {kind} WHERE id {_AMONG}", (as_json(removed),))
            write = f"INSERT OR REPLACE INTO {kind} ({_COLUMNS}) VALUES ({_VALUES})"
            connection.executemany(write, map(asdict, rows))

    @contextmanager
    def transaction(self, *, erase: bool = False) -> Iterator[EmbeddedRows]:
        """Make all changes in the block or none; with `erase`, then erase every byte of deleted rows."""
        with self._database.write() as connection:
            if erase:
                connection.execute("UPDATE state SET erasing = 1")
            yield EmbeddedRows(self._database, connection)
        if erase:
            self._database.erase()

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return nullcontext(self._connection) if self._connection else self._database.read()

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        return nullcontext(self._connection) if self._connection else self._database.write()
