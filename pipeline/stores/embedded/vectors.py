"""Exact dense search: all vectors of a build in memory, kept up with SQLite, document by document.

NumPy is imported with the first vector that is read: an ingest with nothing to do reads none.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pipeline.stores.base import Level, Vector
from pipeline.stores.embedded.checksums import is_corrupt, is_sound
from pipeline.stores.embedded.documents import Changes, Scored, State, changes_since
from pipeline.stores.embedded.mending import SectionVectors, VectorMending

if TYPE_CHECKING:
    from pipeline.stores.embedded.vector_rows import VectorRows

_COUNTS = """
    SELECT (SELECT count(*) FROM section WHERE build = :build),
           (SELECT count(*) FROM sentence WHERE build = :build)
"""
_SECTIONS = "SELECT section.number, section.document FROM section "
_VECTORS = """
    SELECT section.number, section.document,
           embedding.section, embedding.first_sentence, embedding.vectors, embedding.checksum
    FROM section LEFT JOIN embedding ON embedding.section = section.number
"""
_OF_ONE = "SELECT section, first_sentence, vectors, checksum FROM embedding WHERE section = ?"
# The plus keeps SQLite from sorting what an index on the build brings in another order.
_OF_BUILD = "WHERE +section.build = ? ORDER BY section.number"
_OF_DOCUMENT = "WHERE section.document = ? ORDER BY section.number"
_OF_SECTIONS = "WHERE section.number IN (SELECT value FROM json_each(?)) ORDER BY section.number"

Parameter = int | str | None
VectorsRow = tuple[Any, ...]


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, one at a time."""

    def __init__(self, mending: VectorMending) -> None:
        self._mending = mending
        self._lock = threading.Lock()
        self._made_from: State | None = None
        self._levels: dict[Level, VectorRows] = {}

    def search(
        self,
        connection: sqlite3.Connection,
        state: State,
        vector: Vector,
        *,
        limits: dict[Level, int],
        documents: Collection[int] | None,
    ) -> dict[Level, list[Scored]]:
        """The nodes nearest to a unit vector by cosine, a list a level, best first.

        `documents` limits the search to those numbers.
        """
        with self._lock:
            self._catch_up(connection, state, dimensions=len(vector))
            return {
                level: rows.search(vector, limits[level], documents) for level, rows in self._levels.items()
            }

    def forget(self) -> None:
        """Free the memory; the next search reads everything again."""
        with self._lock:
            self._made_from, self._levels = None, {}

    def _catch_up(self, connection: sqlite3.Connection, state: State, *, dimensions: int) -> None:
        made_from = self._made_from
        if made_from and made_from[:2] == state[:2] and made_from.generation >= state.generation:
            return
        self._made_from = None  # an error below makes the next search load everything
        changes = None
        if made_from and made_from[:2] == state[:2]:
            changes = changes_since(connection, made_from.generation, state)
        if changes is None:
            self._load(connection, state, dimensions)
        else:
            self._apply(connection, changes)
        self._made_from = state

    def _load(self, connection: sqlite3.Connection, state: State, dimensions: int) -> None:
        from pipeline.stores.embedded.vector_rows import VectorRows

        self._levels = {}  # free the old ones first: there is not room for both
        sections, sentences = connection.execute(_COUNTS, {"build": state.visible}).fetchone()
        self._levels = {
            "section": VectorRows(sections, dimensions),
            "sentence": VectorRows(sentences, dimensions),
        }
        self._append(connection, _OF_BUILD, state.visible, dimensions)

    def _apply(self, connection: sqlite3.Connection, changes: Changes) -> None:
        for rows in self._levels.values():
            rows.remove(changes.removed)
        dimensions = self._levels["section"].dimensions
        for document in sorted(changes.added):
            self._append(connection, _OF_DOCUMENT, document, dimensions)

    def _append(
        self, connection: sqlite3.Connection, which: str, parameter: Parameter, dimensions: int
    ) -> None:
        from pipeline.stores.embedded.vector_rows import unpack

        sections, sentences = self._levels["section"], self._levels["sentence"]
        for document, found in _sound(connection, which, parameter, self._mending):
            vectors = unpack(found.vectors, dimensions)
            sections.append(found.section, document, vectors[:1])
            sentences.append(found.first_sentence, document, vectors[1:])


def vectors_of(
    connection: sqlite3.Connection, sections: Collection[int], mending: VectorMending
) -> dict[int, SectionVectors]:
    """The stored vectors of some sections, by number."""
    numbers = json.dumps(sorted(sections))
    return {found.section: found for _, found in _sound(connection, _OF_SECTIONS, numbers, mending)}


def damaged_vectors(connection: sqlite3.Connection, build: int | None) -> list[int]:
    """The sections of a build, by number, whose vectors are missing or not as they were written."""
    return _damaged(connection, _OF_BUILD, build)


def _sound(
    connection: sqlite3.Connection, which: str, parameter: Parameter, mending: VectorMending
) -> Iterator[tuple[int, SectionVectors]]:
    """The document and the vectors of each section, in order; those that are damaged are mended."""
    mended: dict[int, SectionVectors] = {}
    for row in _rows(connection, which, parameter):
        section, document, _, first_sentence, vectors, _ = row
        if _is_sound(row):
            yield document, SectionVectors(section, first_sentence, vectors)
            continue
        mended = mended or mending.mend(connection, _damaged(connection, which, parameter))
        yield document, mended[section]


def _damaged(connection: sqlite3.Connection, which: str, parameter: Parameter) -> list[int]:
    return [row[0] for row in _rows(connection, which, parameter) if not _is_sound(row)]


def _rows(connection: sqlite3.Connection, which: str, parameter: Parameter) -> Iterator[VectorsRow]:
    """Each section's vectors as they are stored; where pages are damaged, those that can be read."""
    last = 0
    try:
        for row in connection.execute(_VECTORS + which, (parameter,)):
            last = row[0]
            yield row
    except sqlite3.DatabaseError as error:
        if not is_corrupt(error):
            raise
        for section, document in connection.execute(_SECTIONS + which, (parameter,)).fetchall():
            if section > last:
                yield section, document, *_one(connection, section)


def _one(connection: sqlite3.Connection, section: int) -> VectorsRow:
    try:
        found = connection.execute(_OF_ONE, (section,)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_corrupt(error):
            raise
        found = None
    return found or (None, None, None, None)


def _is_sound(row: VectorsRow) -> bool:
    section, _, own, first_sentence, vectors, stored = row
    return bool(own == section and is_sound((own, first_sentence, vectors), stored))
