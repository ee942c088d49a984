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
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM access_key WHERE hash != ''"
_INSERT = f"INSERT INTO access_key ({', '.join(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})"

_REVOKE = """
    UPDATE access_key SET name = id, user = '', rights = '', salt = '', hash = '', expires_at = NULL
    WHERE hash != '' AND ? IN (name, id)
"""


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
            row = connection.execute(f"{_SELECT} AND id = ?", (key_id,)).fetchone()
        return _key(row) if row else None

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self._pool.borrow() as connection:
            return [_key(row) for row in connection.execute(f"{_SELECT} ORDER BY name").fetchall()]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id, but for its id; False where there is none."""
        with self._pool.borrow() as connection:
            done = connection.execute(_REVOKE, (name,))
        return done.rowcount > 0

    def revoked(self) -> Sequence[str]:
        """The ids of keys that were revoked here."""
        with self._pool.borrow() as connection:
            return [id_ for (id_,) in connection.execute("SELECT id FROM access_key WHERE hash = ''")]

    def close(self) -> None:
        """Release the file."""
        self._pool.close()


def _key(row: Sequence[Any]) -> Key:
    stored = dict(zip(_FIELDS, row, strict=True))
    return Key(**stored | {"rights": tuple(stored["rights"].split())})
