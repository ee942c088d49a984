"""Exact dense search: all vectors of a build in memory, kept up with SQLite, document by document.

NumPy is imported with the first vector that is read: an ingest with nothing to do reads none.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from pipeline.stores.base import Level, Vector
from pipeline.stores.embedded.documents import Changes, Scored, State, changes_since

if TYPE_CHECKING:
    from pipeline.stores.embedded.vector_rows import VectorRows

_COUNTS = "SELECT total(sections), total(sentences) FROM document WHERE build = ?"
_VECTORS = """
    SELECT section.number, section.document, embedding.first_sentence, embedding.vectors
    FROM section JOIN embedding ON embedding.section = section.number
"""
# The plus keeps SQLite from sorting what an index on the build brings in another order.
_OF_BUILD = _VECTORS + "WHERE +section.build = ? ORDER BY section.number"
_OF_DOCUMENT = _VECTORS + "WHERE section.document = ? ORDER BY section.number"


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, one at a time."""

    def __init__(self) -> None:
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
        sections, sentences = connection.execute(_COUNTS, (state.visible,)).fetchone()
        self._levels = {
            "section": VectorRows(int(sections), dimensions),
            "sentence": VectorRows(int(sentences), dimensions),
        }
        self._append(connection.execute(_OF_BUILD, (state.visible,)), dimensions)

    def _apply(self, connection: sqlite3.Connection, changes: Changes) -> None:
        for rows in self._levels.values():
            rows.remove(changes.removed)
        dimensions = self._levels["section"].dimensions
        for document in sorted(changes.added):
            self._append(connection.execute(_OF_DOCUMENT, (document,)), dimensions)

    def _append(self, records: Iterable[tuple[int, int, int, bytes]], dimensions: int) -> None:
        from pipeline.stores.embedded.vector_rows import unpack

        sections, sentences = self._levels["section"], self._levels["sentence"]
        for section, document, first_sentence, packed in records:
            vectors = unpack(packed, dimensions)
            sections.append(section, document, vectors[:1])
            sentences.append(first_sentence, document, vectors[1:])
