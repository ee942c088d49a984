"""Whether what is stored is as it was written: every page of the file, every row, every vector."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from pipeline.stores.base import LEVELS
from pipeline.stores.embedded.checksums import is_corrupt, is_sound
from pipeline.stores.embedded.documents import read_state
from pipeline.stores.embedded.node_rows import ROW, node_is_sound
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
    """Look at all of it."""
    build = read_state(connection).visible
    problems = _file_problems(connection)
    try:
        documents = tuple(sorted(damaged_documents(connection, build).values()))
        vectors = len(damaged_vectors(connection, build))
    except sqlite3.DatabaseError as error:  # so damaged that not all can be looked at
        return Examination((*problems, str(error)), (), 0)
    return Examination(problems, documents, vectors)


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


def _file_problems(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        rows = connection.execute(f"PRAGMA integrity_check({_MOST_PROBLEMS})").fetchall()
    except sqlite3.DatabaseError as error:
        if not is_corrupt(error):
            raise
        return (str(error),)
    return tuple(str(text) for (text,) in rows if text != "ok")
