"""A store that this user may only read: another user's, on a disk that is mounted so, or write-protected.

To read a file in WAL mode, SQLite keeps others beside it. Where it cannot, it reads the file as one that
nobody changes; `FileIdentity` tells when somebody has, and it is opened again.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import StoreError

LEAST_ROOM = 65_536
"""Bytes: SQLite makes a file of 32 kB beside its own, and writes at least a page."""
COPY = "Make it writable, or copy the folder and name the copy with --data-dir."


def unreadable(path: Path, error: OSError) -> StoreError:
    """The error for a file or folder that the operating system does not let us read."""
    fix = "Make it readable, or name another folder with --data-dir."
    return StoreError(f"Cannot read '{path}': {error.strerror or error}.", fix)


def is_read_only(path: Path) -> bool:
    """True where the SQLite file at `path` is there, but it or its folder cannot be written."""
    return identity(path) is not None and not all(os.access(place, os.W_OK) for place in (path, path.parent))


def has_no_room(error: BaseException, path: Path) -> bool:
    """Whether an error of SQLite means that the disk of the file at `path` is full.

    It says so where it writes to the file. Where it makes those beside it, it calls that a failing disk, and
    what was opened for reading meanwhile is called read-only.
    """
    name = getattr(error, "sqlite_errorname", None) or ""
    if name == "SQLITE_FULL":
        return True
    if not name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY")) or is_read_only(path):
        return False
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < LEAST_ROOM
    return False


def can_be_read_alone(path: Path) -> bool:
    """Whether all that was stored is in the file itself."""
    return identity(path) is not None and _wal_size(path) == 0


def only_reads(connection: sqlite3.Connection) -> bool:
    """Whether a connection is from `open_read_only`."""
    return bool(connection.execute("PRAGMA query_only").fetchone()[0])


class FileIdentity(NamedTuple):
    """Which file it is, and when it was last written."""

    device: int
    inode: int
    written: tuple[int, ...]

    def is_same_file(self, other: FileIdentity) -> bool:
        """Whether both are one file, though it may have changed."""
        return self[:2] == other[:2]


def identity(path: Path, *, read_only: bool = False) -> FileIdentity | None:
    """The identity of the SQLite file at `path`; None where there is none. Raises `StoreError`.

    Of one that is only read, it also tells whether somebody writes there.
    """
    try:
        found = path.stat()
        wal = _wal_size(path) if read_only else 0
        return FileIdentity(found.st_dev, found.st_ino, (found.st_mtime_ns, found.st_size, wal))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def open_read_only(path: Path, *, timeout_s: float) -> sqlite3.Connection:
    """A connection that only reads; raises `StoreError` where that is not possible either."""
    live = _wal_size(path) > 0  # somebody is using it, or did not finish
    uri = f"{path.resolve().as_uri()}?{'mode=ro' if live else 'immutable=1'}"
    connection = sqlite3.connect(
        uri, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        if live:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        raise StoreError(
            f"Cannot read '{path}': it is read-only, and its last changes are not in it yet ({error}).",
            f"Let its owner run `athena doctor` once. {COPY}",
        ) from error
    return connection


def _wal_size(path: Path) -> int:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        return 0
