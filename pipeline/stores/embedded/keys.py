"""API keys in the SQLite file: a row each."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from pipeline.stores.embedded.database import Database
from pipeline.stores.keys import Key, Keys, name_taken

_FIELDS = [field.name for field in fields(Key)]
_SELECT = f"SELECT {', '.join(_FIELDS)} FROM access_key ORDER BY name"
_INSERT = f"INSERT INTO access_key ({', '.join(_FIELDS)}) VALUES ({', '.join('?' * len(_FIELDS))})"


class EmbeddedKeys(Keys):
    """Fulfils `Keys` on one SQLite database."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)

    def add(self, key: Key) -> None:
        """Store a new key; raises `ConfigurationError` where one of that name is stored."""
        row = [" ".join(key.rights) if name == "rights" else getattr(key, name) for name in _FIELDS]
        with self.database.write() as connection:
            try:
                connection.execute(_INSERT, row)
            except sqlite3.IntegrityError as error:
                raise name_taken(key.name) from error

    def list(self) -> Sequence[Key]:
        """All keys, by name."""
        with self.database.read() as connection:
            rows = [dict(zip(_FIELDS, row, strict=True)) for row in connection.execute(_SELECT)]
        return [Key(**row | {"rights": tuple(row["rights"].split())}) for row in rows]

    def revoke(self, name: str) -> bool:
        """Remove the key of a name or id; False where there is none."""
        with self.database.write() as connection:
            return connection.execute("DELETE FROM access_key WHERE ? IN (name, id)", (name,)).rowcount > 0

    def close(self) -> None:
        """Release the file."""
        self.database.close()
