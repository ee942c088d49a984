"""The SQLite file: opened, migrated, its connections pooled, its errors translated into ours."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.stores.embedded import erasing
from pipeline.stores.embedded.schema import MIGRATIONS

FILE_NAME = "athena.sqlite"
BUSY_TIMEOUT_S = 10.0

# WAL: readers never wait for the writer. synchronous NORMAL: a kill loses nothing, a power failure at most
# the last transactions, never half of one. secure_delete: what is deleted is overwritten with zeros.
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
)


def open_database(path: Path) -> sqlite3.Connection:
    """A connection to the file at `path`, made and migrated where needed; autocommit, usable in any thread.

    Raises:
        StoreError: damaged, not writable, or made by a newer version of the program.
    """
    with store_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path.parent, error) from error
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in _PRAGMAS:
                connection.execute(pragma)
            _migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction: committed whole at the end of the block, or undone."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has undone it itself where the disk was full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction: every query in the block sees the same state."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


class ConnectionPool:
    """Connections to one file, each used by one thread at a time; as many as were ever needed at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle = [open_database(path)]
        with store_errors(path):
            erasing.go_on(self._idle[0], path)
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection for the block; errors of SQLite leave it as `StoreError`."""
        with self._guard:
            self._check_open()
            connection = self._idle.pop() if self._idle else None
        connection = connection or open_database(self._path)
        try:
            with store_errors(self._path):
                yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close the idle connections now, and those in use when they come back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store in '{self._path.parent}' was closed.", "Open it again.")


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors in the block into a `StoreError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise describe(error, path) from error


def describe(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error of SQLite means for the file at `path`, and what to do about it."""
    name = getattr(error, "sqlite_errorname", "") or ""
    match name.split("_")[1:2]:
        case ["FULL"]:
            fix = "Free some space and try again: what was stored before is whole."
            return StoreError(f"Cannot write '{path}': the disk is full.", fix)
        case ["READONLY"]:
            fix = "Make the file and its folder writable, or name another folder with --data-dir."
            return StoreError(f"Cannot write '{path}': it is read-only.", fix)
        case ["CORRUPT"] | ["NOTADB"]:
            fix = "Put back a copy of it, or move it away and run `athena ingest` again."
            return StoreError(f"Cannot read '{path}': the file is damaged ({error}).", fix)
        case ["CANTOPEN"]:
            fix = "Check that the folder exists and can be written, or name another with --data-dir."
            return StoreError(f"Cannot open '{path}'.", fix)
        case ["BUSY"] | ["LOCKED"]:
            fix = "Wait until it is finished and try again."
            return StoreError(f"Cannot write '{path}': another process is writing to it.", fix)
        case ["IOERR"]:
            return StoreError(f"Cannot read or write '{path}': the disk failed ({error}).", "Check the disk.")
    return StoreError(f"Cannot use '{path}': {error}.", "Run `athena doctor`.")


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error for a folder or file that the operating system does not let us write."""
    fix = "Make it writable, or name another folder with --data-dir."
    return StoreError(f"Cannot write '{path}': {error.strerror or error}.", fix)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the newest version, one transaction a step."""
    if _version(connection, path) == len(MIGRATIONS):
        return
    with transaction(connection):
        for number in range(_version(connection, path), len(MIGRATIONS)):  # again: now nobody else can
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise StoreError(
            f"Cannot read '{path}': it has format {version}, this program knows up to {len(MIGRATIONS)}.",
            "Update Athena, or name another folder with --data-dir.",
        )
    return version
