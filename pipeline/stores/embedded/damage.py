"""Damage: whether what is stored is as it was written, and what can be saved of what is not.

A salvage copies row by row into a new store, and takes nothing over that is not as it was written: a document
with a damaged part is left out whole.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import StoreError
from pipeline.stores.base import LEVELS
from pipeline.stores.embedded.checksums import is_sound
from pipeline.stores.embedded.conversations import drop_damaged_turns, reset_damaged_scopes
from pipeline.stores.embedded.database import (
    BUSY_TIMEOUT_S,
    FILE_NAME,
    open_database,
    store_errors,
    transaction,
    unwritable,
)
from pipeline.stores.embedded.documents import read_state
from pipeline.stores.embedded.memories import drop_damaged_memories
from pipeline.stores.embedded.nodes import ROW, node_is_sound
from pipeline.stores.embedded.reading_only import is_read_only, open_read_only
from pipeline.stores.embedded.schema import DOCUMENT_CHECKED
from pipeline.stores.embedded.vectors import damaged_vectors

_UNKNOWN = "a document whose name cannot be read"
_MOST_PROBLEMS = 5  # of the file that are named
_DOCUMENTS = f"""
    SELECT {DOCUMENT_CHECKED}, checksum, text, text_checksum, metadata, metadata_checksum
    FROM document WHERE build = ?
"""
_COUNTS = """
    SELECT number FROM document WHERE build = ? AND (
        sections IS NOT (SELECT count(*) FROM section WHERE section.document = document.number) OR
        sentences IS NOT (SELECT count(*) FROM section JOIN sentence ON sentence.section = section.number
                          WHERE section.document = document.number))
"""
_TABLES = """
    SELECT name FROM sqlite_master
    WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'
"""
_LOST = """
    SELECT source FROM document WHERE number NOT IN (SELECT number FROM whole)
    UNION SELECT json_extract(metadata, '$.source') FROM section
    WHERE document NOT IN (SELECT number FROM document) AND json_valid(metadata)
          AND json_extract(metadata, '$.source') IS NOT NULL
"""
_LEFT_BEHIND = ("lexical", "writer.lock", "writer.pid", "in_hand")
_LEAP_AFTER = 256  # rows in a row that cannot be read, after which ever more are left out at once


@dataclass(frozen=True, slots=True)
class Examination:
    """What is not as it was written; nothing of it is, where all of these are empty."""

    problems: tuple[str, ...]  # of the file itself, as SQLite tells them
    documents: tuple[str, ...]  # whose text, sections or sentences are damaged or missing, by source
    vectors: int  # sections whose vectors are damaged or missing: they can be made again

    @property
    def text_is_sound(self) -> bool:
        """Whether all is there that cannot be made again."""
        return not (self.problems or self.documents)


def examine(connection: sqlite3.Connection) -> Examination:
    """Look at all of it: every page of the file, every row, every vector."""
    build = read_state(connection).visible
    problems: list[str] = []
    documents: tuple[str, ...] = ()
    vectors = 0
    try:
        checked = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})")
        problems += [str(text) for (text,) in checked if text != "ok"]
        documents = tuple(sorted(damaged_documents(connection, build).values()))
        vectors = len(damaged_vectors(connection, build))
    except sqlite3.DatabaseError as error:  # so damaged that not all can be looked at
        problems.append(str(error))
    return Examination(tuple(problems), documents, vectors)


def damaged_documents(connection: sqlite3.Connection, build: int | None) -> dict[int, str]:
    """The documents of a build, by number, whose text, sections or sentences are not as they were written.

    Each with its source, as far as that can be told.
    """
    sources: dict[int, str] = {}
    damaged: set[int] = set()
    for row in connection.execute(_DOCUMENTS, (build,)):
        sources[row[0]] = str(row[3])
        about, text, metadata = row[:-4], row[-4:-2], row[-2:]
        if not all(is_sound(part[:-1], part[-1]) for part in (about, text, metadata)):
            damaged.add(row[0])
    for level in LEVELS:
        rows = connection.execute(f"SELECT {ROW[level]} FROM {level} WHERE build = ?", (build,))
        damaged |= {row[2] for row in rows if not node_is_sound(level, row)}
    damaged |= {number for (number,) in connection.execute(_COUNTS, (build,))}
    return {number: sources.get(number, _UNKNOWN) for number in damaged}


@dataclass(frozen=True, slots=True)
class Salvage:
    """What was saved, and the documents that are lost, by source, as far as these are known."""

    documents: int
    conversations: int
    turns: int
    lost: tuple[str, ...]
    memories: int


def salvage(folder: Path, into: Path) -> Salvage:
    """Copy what can be read of the store in `folder` into a new folder; the old one is left as it is.

    Raises `StoreError` where there is no store, `into` is not new, or nothing at all can be read.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        raise StoreError(f"There is no store in '{folder}'.", "Name its folder with --data-dir.")
    if into.exists():
        raise StoreError(f"'{into}' is there already.", "Name a folder that does not exist yet.")
    try:
        shutil.copytree(folder, into, ignore=lambda *_: [*_LEFT_BEHIND, *_files_of(path)])
    except OSError as error:
        raise unwritable(into, error) from error
    with (
        store_errors(path),
        closing(_opened(path)) as damaged,
        closing(open_database(into / FILE_NAME)) as new,
    ):
        return _copy(damaged, new)


def _opened(path: Path) -> sqlite3.Connection:
    """The damaged file, to be read only."""
    if is_read_only(path):
        return open_read_only(path, timeout_s=BUSY_TIMEOUT_S)
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _files_of(path: Path) -> list[str]:
    return [f"{path.name}{suffix}" for suffix in ("", "-wal", "-shm")]


def _copy(damaged: sqlite3.Connection, new: sqlite3.Connection) -> Salvage:
    new.execute("PRAGMA foreign_keys = OFF")
    with transaction(new):
        for (table,) in new.execute(_TABLES).fetchall():
            _copy_table(damaged, new, table)
        lost = _drop_damaged(new)
        _drop_orphans(new)
        reset_damaged_scopes(new)
        drop_damaged_turns(new)
        drop_damaged_memories(new)
        _mend_state(new)
    documents, conversations, turns, memories = (
        new.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for table in ("document", "conversation", "turn", "memory WHERE kind = 'memory'")
    )
    return Salvage(documents, conversations, turns, lost, memories)


def _copy_table(damaged: sqlite3.Connection, new: sqlite3.Connection, table: str) -> None:
    known = _columns(damaged, table)
    columns = [name for name in _columns(new, table) if name in known]
    if not columns:
        return
    write = f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for row in _readable_rows(damaged, table, ", ".join(columns)):
        try:
            new.execute(write, row)
        except sqlite3.IntegrityError:  # a value that this column cannot have
            continue


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _readable_rows(
    connection: sqlite3.Connection, table: str, columns: str
) -> Iterator[tuple[str | int | float | bytes | None, ...]]:
    """All rows that can be read; after one that cannot, the next are tried one by one, then in leaps."""
    last, end, failures = 0, _last_number(connection, table), 0
    query = f"SELECT rowid, {columns} FROM {table} WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
    while last < end:
        try:
            for row in connection.execute(query, (last, end)):
                last, failures = row[0], 0
                yield row[1:]
            return
        except sqlite3.DatabaseError:
            last += 1 << (failures // _LEAP_AFTER)
            failures += 1


def _last_number(connection: sqlite3.Connection, table: str) -> int:
    """The highest row id, or one that no table of such a file reaches."""
    try:
        return int(connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0)
    except sqlite3.DatabaseError:
        pages, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
        )
        return int(pages * size)


def _drop_damaged(new: sqlite3.Connection) -> tuple[str, ...]:
    """Delete the documents that are not whole; their sources."""
    new.execute("CREATE TEMP TABLE whole AS SELECT number FROM document")
    for (build,) in new.execute("SELECT DISTINCT build FROM document").fetchall():
        broken = damaged_documents(new, build)
        new.executemany("DELETE FROM whole WHERE number = ?", ((number,) for number in broken))
    lost = tuple(sorted(str(source) for (source,) in new.execute(_LOST) if source))
    new.execute("DELETE FROM document WHERE number NOT IN (SELECT number FROM whole)")
    new.execute("DROP TABLE whole")
    return lost


def _drop_orphans(new: sqlite3.Connection) -> None:
    """Delete the rows that belong to something that is not there."""
    while orphans := new.execute("PRAGMA foreign_key_check").fetchall():
        for table, number, _, _ in orphans:
            new.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))


def _mend_state(new: sqlite3.Connection) -> None:
    """The build with the most documents is the visible one, as a file of its own."""
    new.execute("DELETE FROM state")
    new.execute(
        """
        INSERT INTO state (id, store, visible, generation, next_number) VALUES (
            1, lower(hex(randomblob(16))),
            (SELECT build FROM document GROUP BY build ORDER BY count(*) DESC, build DESC),
            1, 1 + max(
                (SELECT coalesce(max(number), 0) FROM document),
                (SELECT coalesce(max(number), 0) FROM section),
                (SELECT coalesce(max(number), 0) FROM sentence)))
        """
    )
    new.execute("DELETE FROM change")
    new.execute("DELETE FROM document WHERE build IS NOT (SELECT visible FROM state)")
    _drop_orphans(new)
