"""Keys in the SQLite file: a row each."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pipeline.stores.embedded.database import ConnectionPool
from pipeline.stores.keys import Key, Keys, name_taken

_FIELDS = [field.name for field in fields(Key)]
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM access_key"
_INSERT = f"INSERT INTO access_key ({', '.join(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})"


class EmbeddedKeys(Keys):
    """Fulfils `Keys` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self._pool = ConnectionPool(path)

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is there."""
        row = [getattr(key, name) for name in _FIELDS]
        row[_FIELDS.index("rights")] = " ".join(key.rights)
        with self._pool.borrow() as connection:
            try:
                connection.execute(_INSERT, row)
            except sqlite3.IntegrityError as error:
                raise name_taken(key.name) from error

    def get(self, key_id: str) -> Key | None:
        """The key of an id, if it is stored."""
        with self._pool.borrow() as connection:
            row = connection.execute(f"{_SELECT} WHERE id = ?", (key_id,)).fetchone()
        return _key(row) if row else None

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._pool.borrow() as connection:
            return [_key(row) for row in connection.execute(f"{_SELECT} ORDER BY name").fetchall()]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id; False where there is none."""
        with self._pool.borrow() as connection:
            done = connection.execute("DELETE FROM access_key WHERE ? IN (name, id)", (name,))
        return done.rowcount > 0

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


def _key(row: Sequence[Any]) -> Key:
    stored = dict(zip(_FIELDS, row, strict=True))
    return Key(**stored | {"rights": tuple(stored["rights"].split())})
