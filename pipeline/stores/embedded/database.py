"""The SQLite file: opened, migrated, its connections pooled, its errors translated into ours."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import DiskFull, StoreDamaged, StoreError
from pipeline.stores.embedded import erasing
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.reading_only import (
    COPY,
    FileIdentity,
    can_be_read_alone,
    has_no_room,
    identity,
    is_read_only,
    only_reads,
    open_read_only,
)
from pipeline.stores.embedded.schema import FORMAT, MIGRATIONS

FILE_NAME = "athena.sqlite"
BUSY_TIMEOUT_S = 10.0

_SIGNS_OF_DAMAGE = (
    "malformed",
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "has no column",
)
"""In messages of errors that have no code of their own."""

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

    One that may only be read is opened as it is; so is one on a full disk, until there is room again.

    Raises:
        StoreError: damaged, cannot be made, or of another format than this version of the program has.
    """
    with store_errors(path):
        if is_read_only(path):
            return _opened_read_only(path)
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
        except sqlite3.OperationalError as error:
            connection.close()
            if not (has_no_room(error, path) and can_be_read_alone(path)):
                raise
            return _opened_read_only(path)
        except BaseException:
            connection.close()
            raise
    return connection


def _opened_read_only(path: Path) -> sqlite3.Connection:
    connection = open_read_only(path, timeout_s=BUSY_TIMEOUT_S)
    try:
        _check_format(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def open_in_memory() -> sqlite3.Connection:
    """A connection to a new database in memory, usable in any thread; nothing of it comes into a file."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for pragma in ("PRAGMA foreign_keys = ON", "PRAGMA temp_store = MEMORY"):
        connection.execute(pragma)
    _migrate(connection, Path(":memory:"))
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
    """Connections to one file, each used by one thread at a time; as many as were ever needed at once.

    One that was written by others than SQLite, as a copy is, is opened again; for another file in its place,
    `on_exchange` is called.
    """

    def __init__(self, path: Path, *, on_exchange: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._on_exchange = on_exchange
        self._idle = [open_database(path)]
        self.read_only = is_read_only(path)
        self._file = self._identity()
        if not only_reads(self._idle[0]):
            with store_errors(path):
                erasing.go_on(self._idle[0], path)
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection for the block; errors of SQLite leave it as `StoreError`."""
        if self._is_exchanged():
            self._on_exchange()
        with self._guard:
            self._check_open()
            file, connection = self._file, self._idle.pop() if self._idle else None
        connection = connection or open_database(self._path)
        try:
            with store_errors(self._path):
                yield connection
        finally:
            self._give_back(connection, file)

    def close(self) -> None:
        """Close the idle connections now, and those in use when they come back."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _is_exchanged(self) -> bool:
        """Whether another file is at the path than before; connections to what has changed are dropped."""
        with self._guard:
            self._check_open()
            file = self._identity()
            if file == self._file:
                return False
            exchanged = self.read_only or not file.is_same_file(self._file)
            self._file, self.read_only = file, is_read_only(self._path)
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        return exchanged

    def _identity(self) -> FileIdentity:
        file = identity(self._path, read_only=self.read_only)
        if file is None:
            raise StoreError(
                f"'{self._path}' is gone: it was deleted or moved while it was in use.",
                "Put it back, or index again with `athena ingest FOLDER`.",
            )
        return file

    def _give_back(self, connection: sqlite3.Connection, file: FileIdentity) -> None:
        with self._guard:
            is_for_good = self.read_only or not only_reads(connection)  # not until there is room again
            if not self._closed and file == self._file and is_for_good:
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
    except UnicodeDecodeError as error:  # in what SQLite says of a damaged file
        raise damaged(path, error) from error
    except UnicodeEncodeError as error:  # half a surrogate pair, as an undecodable argument has
        raise StoreError(f"{error.object!r:.80} is not text.", "Write it in Unicode.") from error


def describe(error: sqlite3.Error, path: Path) -> StoreError:
    """What an error of SQLite means for the file at `path`, and what to do about it."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if has_no_room(error, path):
        fix = "Free some space and try again: what was stored before is whole."
        return DiskFull(f"Cannot write '{path}': the disk is full.", fix)
    if isinstance(error, Damaged) or any(sign in str(error) for sign in _SIGNS_OF_DAMAGE):
        return damaged(path, error)
    match name.split("_")[1:2]:
        case ["READONLY"]:
            return StoreError(f"Cannot write '{path}': it is read-only.", COPY)
        case ["CORRUPT"] | ["NOTADB"] | ["MISMATCH"]:
            return damaged(path, error)
        case ["CANTOPEN"]:
            fix = "Check that the folder exists and can be written, or name another with --data-dir."
            return StoreError(f"Cannot open '{path}'.", fix)
        case ["BUSY"] | ["LOCKED"]:
            fix = "Wait until it is finished and try again."
            return StoreError(f"Cannot write '{path}': another process is writing to it.", fix)
        case ["IOERR"]:
            fix = "See whether it is full, over a quota or broken: what was stored before is whole."
            return StoreError(f"Cannot read or write '{path}': the disk failed ({error}).", fix)
    return StoreError(f"Cannot use '{path}': {error}.", "Run `athena doctor`.")


def damaged(path: Path, error: Exception) -> StoreDamaged:
    """The error for a file that is not as it was written."""
    return StoreDamaged(
        f"Cannot read '{path}': the file is damaged ({error}).",
        "Put back a copy of it. Without one, `athena doctor --salvage FOLDER` copies what can be read into a "
        "new folder, and `athena ingest` there restores the documents.",
    )


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error for a folder or file that the operating system does not let us write."""
    fix = "Make it writable, or name another folder with --data-dir."
    return StoreError(f"Cannot write '{path}': {error.strerror or error}.", fix)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a new file, or one of an older format, to that of today, in one transaction."""
    if _format(connection) in MIGRATIONS:
        connection.create_function("told_in", 1, _told_in)
        with transaction(connection):
            for statement in MIGRATIONS.get(_format(connection), ()):  # again: now nobody else can change it
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
    _check_format(connection, path)


def _told_in(answer: str) -> str | None:
    from pipeline.stores.conversations import told_in_json  # opening a file of today does not wait for it

    return told_in_json(answer)


def _format(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    found = _format(connection)
    if found > FORMAT:
        raise StoreError(
            f"Cannot read '{path}': it has format {found}, this program knows up to {FORMAT}.",
            "Update Athena, or name another folder with --data-dir.",
        )
    if found in MIGRATIONS:  # and only read: it would have been done
        raise StoreError(
            f"Cannot read '{path}': it was made by an earlier version of Athena, and may not be written.",
            f"Let its owner run `athena doctor` once. {COPY}",
        )
    if found < FORMAT:
        raise StoreError(
            f"Cannot read '{path}': it was made by an earlier version of Athena, as format {found}.",
            "Index again in a new folder (--data-dir). `athena memory export` of that version and `import` "
            "of this one take memories along, `athena doctor --salvage FOLDER` conversations.",
        )
