"""What is forgotten leaves the files: the write-ahead log, and copies that SQLite left in gaps of pages.

`secure_delete` overwrites what is deleted, but neither the log's older versions of a page nor the copy of a
row that stayed in a page when the row was moved to another (ran: 4 to 8 of 2,000 deleted rows). So the log is
written back and truncated, the file searched for the words, and written anew (`VACUUM`) where it has them.

A flag is set with the deletion and cleared at the end. Whoever opens the file and finds it set, because a
process was killed or had to give up in between, does the rest, without knowing the words.
"""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import ErasureIncomplete

log = logging.getLogger(__name__)

_SEARCH = """
import sys
words = [bytes.fromhex(line) for line in sys.stdin.read().split()]
before, found = b"", set()
with open(sys.argv[1], "rb") as file:
    while block := file.read(1 << 20):
        content = before + block
        found |= {word for word in words if word in content}
        before = content[-max(map(len, words)):]
print("\\n".join(word.hex() for word in found))
"""

LOCK = "erasing.lock"
WAIT_S = 10.0  # for others to end reading an older version of the file
MOST_SEARCHED = 50  # texts; for more than that the file is written anew without looking
SHORTEST_SEARCHED = 4  # bytes; shorter ones are somewhere in any file
PIECE, PIECE_EVERY = 32, 512  # bytes
PAGE = 4096  # bytes; what is longer has other pages for the rest, which are overwritten when they are freed


def begin(connection: sqlite3.Connection) -> None:
    """Set the flag, within the transaction that deletes."""
    connection.execute("UPDATE erasure SET pending = 1")


def finish(
    connection: sqlite3.Connection, path: Path, texts: Sequence[str | bytes], *, wait_s: float = WAIT_S
) -> None:
    """Remove what is left of deleted `texts` or pieces; raises `ErasureIncomplete` where others read on."""
    with _alone(path, wait_s), _waiting(connection, wait_s):
        _truncate_log(connection, path)
        if len(texts) > MOST_SEARCHED or _left(connection, path, texts):
            _write_anew(connection, path)
        connection.execute("UPDATE erasure SET pending = 0")


def pieces(value: bytes) -> list[bytes]:
    """By what a long value of a row is found in the file, also where only a part of it is left."""
    starts = range(0, min(len(value), PAGE), PIECE_EVERY)
    return [value[-PIECE:], *(value[at : at + PIECE] for at in starts)]


def go_on(connection: sqlite3.Connection, path: Path) -> None:
    """Do what an interrupted `finish` left, unless somebody else does, or reads; then it is left as it is."""
    if not connection.execute("SELECT pending FROM erasure").fetchone()[0]:
        return
    try:
        with _alone(path, 0), _waiting(connection, 0):
            _truncate_log(connection, path)
            _write_anew(connection, path)
            connection.execute("UPDATE erasure SET pending = 0")
    except ErasureIncomplete as error:
        log.warning("what was forgotten is not yet erased from '%s': %s", path, error.problem)


@contextmanager
def _alone(path: Path, wait_s: float) -> Iterator[None]:
    """The block is the only one that erases; raises `ErasureIncomplete` where it cannot be."""
    lock = FileLock(path.with_name(LOCK), thread_local=False)
    try:
        lock.acquire(timeout=wait_s)
    except Timeout as error:
        raise _incomplete(path) from error
    except OSError as error:  # another user's, or no file
        raise ErasureIncomplete(
            f"It is forgotten, but bytes of it may still be in '{path.name}' or its log: '{LOCK}' beside it "
            f"cannot be opened: {error.strerror or error}.",
            f"Remove '{LOCK}', or make it writable; the next one that opens the folder erases the rest.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _truncate_log(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        raise _incomplete(path)


def _write_anew(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        raise _incomplete(path) from error
    _truncate_log(connection, path)


def _left(connection: sqlite3.Connection, path: Path, texts: Sequence[str | bytes]) -> bool:
    """Whether the file has one of the texts where no row has it."""
    words = {text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts}
    wanted = [word for word in words if len(word) >= SHORTEST_SEARCHED]
    return any(not _in_a_row(connection, word) for word in _found(path, wanted))


def _found(path: Path, words: Sequence[bytes]) -> list[bytes]:
    """Those of the words that stand anywhere in the file, which another process reads.

    This one must not open it: closing it again would drop the locks that SQLite holds on it here (its "How to
    corrupt", section 2.2), and the next process would take itself for the only one.
    """
    if not words:
        return []
    command = [sys.executable, "-I", "-S", "-c", _SEARCH, str(path)]
    given = "\n".join(word.hex() for word in words)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return [bytes.fromhex(line) for line in done.stdout.split()]


def _in_a_row(connection: sqlite3.Connection, word: bytes) -> bool:
    for table, column in list(_columns(connection)):
        query = f'SELECT 1 FROM "{table}" WHERE instr(CAST("{column}" AS BLOB), ?) LIMIT 1'
        if connection.execute(query, (word,)).fetchone():
            return True
    return False


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    query = """
        SELECT sqlite_master.name, info.name FROM sqlite_master, pragma_table_info(sqlite_master.name) AS info
        WHERE sqlite_master.type = 'table' AND info.type IN ('TEXT', 'BLOB')
    """
    yield from connection.execute(query).fetchall()


@contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Let statements wait so long for others."""
    before = connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")


def _incomplete(path: Path) -> ErasureIncomplete:
    return ErasureIncomplete(
        f"It is forgotten, but bytes of it may still be in '{path.name}' or its log: it is being read.",
        "Close other programs that use this folder; the next one that opens it erases the rest.",
    )
