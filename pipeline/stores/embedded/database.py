"""The SQLite file: open, read, write, back up and check it; its errors become `StoreError`."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pipeline.errors import DiskFull, ErasureIncomplete, StoreError
from pipeline.stores.embedded.schema import FORMAT, SCHEMA
from pipeline.stores.rows import other_format

FILE_NAME = "athena.sqlite"
BUSY_TIMEOUT_S = 10.0

_log = logging.getLogger(__name__)

# WAL: readers never wait for the writer. synchronous NORMAL: a killed process loses nothing, a power failure
# at most the last transactions. secure_delete: SQLite overwrites what it deletes with zeros.
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
)


class Database:
    """One SQLite file; safe to use from several threads and processes.

    Each block of `read` or `write` has a connection of its own, which is reused afterwards.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        weakref.finalize(self, _close_all, self._idle)  # if nobody calls `close`
        self._closed = False
        with self._borrow():  # so that a file that cannot be used is reported now
            pass

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection; all queries in the block see the same state. Raises `StoreError`."""
        with self._borrow() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                _roll_back(connection)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction: committed at the end of the block, undone if the block raises.

        One block in all processes writes at a time; others wait for `BUSY_TIMEOUT_S`. Raises `StoreError`.
        """
        with self._borrow() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                _roll_back(connection)

    def truncate_log(self, *, wait_s: float) -> bool:
        """Write the log back into the file and empty it; return False if it is still read after `wait_s`."""
        with self._borrow() as connection, _waiting(connection, wait_s):
            (are_reading, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return not are_reading

    def erase(self, *, wait_s: float = BUSY_TIMEOUT_S) -> None:
        """Remove every byte of deleted rows from the file and its log.

        `secure_delete` alone leaves copies in the log, and in pages where SQLite has moved rows. Raises
        `ErasureIncomplete` if, after `wait_s`, another process still reads an older state, or writes.
        """
        with self._borrow() as connection, _waiting(connection, wait_s):
            try:
                connection.execute("VACUUM")
                if done := self.truncate_log(wait_s=wait_s):
                    connection.execute("UPDATE state SET erasing = 0")
            except sqlite3.OperationalError as error:
                if _code(error) not in ("BUSY", "LOCKED"):
                    raise
                done = False
            if not done:
                raise ErasureIncomplete(
                    f"It is forgotten, but bytes of it may still be in '{self.path.name}' or its log: "
                    "another program is using them.",
                    "Close the other programs that use this folder; the next to open it erases the rest.",
                )

    def resume_erasure(self) -> None:
        """Complete an interrupted erasure; log a warning if another process still reads the erased bytes."""
        with self.read() as connection:
            (unfinished,) = connection.execute("SELECT erasing FROM state").fetchone()
        if unfinished:
            try:
                self.erase(wait_s=0)
            except ErasureIncomplete as error:
                _log.warning("%s", error)

    def check(self) -> list[str]:
        """Return the problems that `PRAGMA quick_check` finds in the file; [] if there are none."""
        with self._borrow() as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
        return [] if found == ["ok"] else found

    def backup(self, target: Path) -> None:
        """Copy the file as it is now to `target`, while others read and write; raises `StoreError`."""
        if target.exists():
            raise StoreError(f"'{target}' exists already.", "Name a file that does not exist yet.")
        with self._borrow() as connection, store_errors(target), closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)

    def close(self) -> None:
        """Close the idle connections now, and those in use at the end of their block."""
        self._closed = True
        _close_all(self._idle)

    @contextmanager
    def _borrow(self) -> Iterator[sqlite3.Connection]:
        if self._closed:
            raise StoreError(f"The store in '{self.path.parent}' was closed.", "Open it again.")
        with store_errors(self.path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = _open(self.path)
            try:
                yield connection
            finally:
                self._idle.append(connection)
                if self._closed:
                    self.close()


class MemoryDatabase(Database):
    """A database in memory, with one connection; none of it is written to a file."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._connection.close)  # whoever opens one does not close it
        self._lock = threading.RLock()
        self._connection.executescript(SCHEMA)
        super().__init__(Path(":memory:"))

    @contextmanager
    def _borrow(self) -> Iterator[sqlite3.Connection]:
        with self._lock, store_errors(self.path):
            yield self._connection


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors in the block into a `StoreError` that names the file and says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise describe(error, path) from error
    except UnicodeEncodeError as error:  # half a surrogate pair, as an undecodable argument has
        raise StoreError(f"{error.object!r:.80} is not text.", "Write it in Unicode.") from error


def describe(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the `StoreError` for an error of SQLite about the file at `path`."""
    match _code(error):
        case "FULL":
            return DiskFull(
                f"Cannot write '{path}': the disk is full.",
                "Free some space and try again: everything that was stored before is intact.",
            )
        case "CORRUPT" | "NOTADB":
            return StoreError(
                f"Cannot read '{path}': the file is damaged ({error}).",
                "Put back a backup. Without one, index again in a new folder with `athena ingest FOLDER`.",
            )
        case "READONLY" | "CANTOPEN":
            return unwritable(path, error)
        case "BUSY" | "LOCKED":
            return StoreError(
                f"Cannot write '{path}': another process is writing to it.",
                "Wait until it has finished and try again.",
            )
    return StoreError(f"Cannot use '{path}': {error}.", "Run `athena doctor`.")


def as_json(values: Iterable[object]) -> str:
    """Return values as a JSON list, for SQLite's `json_each`."""
    return json.dumps([*values], ensure_ascii=False)


def unwritable(path: Path, error: Exception) -> StoreError:
    """Return the error for a folder or file that the operating system does not let us write."""
    return StoreError(
        f"Cannot write '{path}': {getattr(error, 'strerror', None) or error}.",
        "Make it writable, or name another folder with --data-dir.",
    )


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        _log_ahead(connection)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found == 0:  # a new file; several processes may do this at once
            connection.executescript(SCHEMA)
        elif found != FORMAT:
            raise other_format(f"'{path}'", found, FORMAT)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Let each call in the block wait up to `seconds` for other processes."""
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_TIMEOUT_S * 1000)}")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log; retry while another process makes the file, as SQLite does not wait."""
    until = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if _code(error) != "BUSY" or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _close_all(idle: list[sqlite3.Connection]) -> None:
    while idle:
        idle.pop().close()


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:  # SQLite ends it itself if the disk is full
        connection.execute("ROLLBACK")


def _code(error: sqlite3.Error) -> str:
    """Return the primary name of an error's code: "BUSY" for SQLITE_BUSY_SNAPSHOT; "" if it has none."""
    return (getattr(error, "sqlite_errorname", None) or "").removeprefix("SQLITE_").partition("_")[0]
