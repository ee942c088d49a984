"""Checksums of rows: SQLite itself does not notice a changed byte within a value."""

from __future__ import annotations

import sqlite3
import zlib

Value = str | int | float | bytes | None


def checksum(*values: Value) -> int:
    """The CRC-32 of some values and their types, in order; about 2 µs a row."""
    total = 0
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        total = zlib.crc32(data, zlib.crc32(type(value).__name__.encode(), total))
    return total


class Damaged(sqlite3.DatabaseError):
    """A row that does not say what was written: treated as SQLite's own errors are."""


def is_sound(values: tuple[Value, ...], stored: object) -> bool:
    """True where a row's values have the checksum that is stored with them."""
    return stored == checksum(*values)


def check_row(table: str, values: tuple[Value, ...], stored: object) -> None:
    """Raise `Damaged` where a row is not sound."""
    if not is_sound(values, stored):
        raise Damaged(f"a row of the table '{table}' is not as it was written")
