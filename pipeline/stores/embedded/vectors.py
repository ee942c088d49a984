"""Exact dense search: all vectors of a build in memory, kept up with SQLite, document by document."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.stores.base import Level, Matrix, Vector
from pipeline.stores.embedded.documents import STORED_VECTORS, Changes, State, changes_since

_GROWTH = 1.25
_SLACK_ROWS = 256
_COMPACTED_SHARE = 0.25  # rows of removed documents, above which the matrix is closed up
_COMPACTED_ROWS = 8192  # rows moved at once

_COUNTS = "SELECT total(sections), total(sentences) FROM document WHERE build = ?"
# The plus keeps SQLite from sorting what an index on the build brings in another order.
_OF_BUILD = """
    SELECT section.number, section.document, embedding.first_sentence, embedding.vectors
    FROM section JOIN embedding ON embedding.section = section.number
    WHERE +section.build = ? ORDER BY section.number
"""
_OF_DOCUMENT = """
    SELECT section.number, section.document, embedding.first_sentence, embedding.vectors
    FROM section JOIN embedding ON embedding.section = section.number
    WHERE section.document = ? ORDER BY section.number
"""


class Scored(NamedTuple):
    """A found node by its number, with its score."""

    number: int
    score: float


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made_from: State | None = None
        self._levels: dict[Level, _Rows] = {}

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
        self._made_from = None  # what is broken off below is done again from the start
        changes = None
        if made_from and made_from[:2] == state[:2]:
            changes = changes_since(connection, made_from.generation, state)
        if changes is None:
            self._load(connection, state, dimensions)
        else:
            self._apply(connection, changes)
        self._made_from = state

    def _load(self, connection: sqlite3.Connection, state: State, dimensions: int) -> None:
        self._levels = {}  # first let go of the old ones: there is not room for both
        sections, sentences = connection.execute(_COUNTS, (state.visible,)).fetchone()
        self._levels = {
            "section": _Rows(int(sections), dimensions),
            "sentence": _Rows(int(sentences), dimensions),
        }
        self._append(connection.execute(_OF_BUILD, (state.visible,)), dimensions)

    def _apply(self, connection: sqlite3.Connection, changes: Changes) -> None:
        for rows in self._levels.values():
            rows.remove(changes.removed)
        dimensions = self._levels["section"].dimensions
        for document in sorted(changes.added):
            self._append(connection.execute(_OF_DOCUMENT, (document,)), dimensions)

    def _append(self, records: Iterable[tuple[int, int, int, bytes]], dimensions: int) -> None:
        sections, sentences = self._levels["section"], self._levels["sentence"]
        for section, document, first_sentence, packed in records:
            vectors = unpack(packed, dimensions)
            sections.append(section, document, vectors[:1])
            sentences.append(first_sentence, document, vectors[1:])


def unpack(packed: bytes, dimensions: int) -> NDArray[np.float16]:
    """The rows of one `embedding.vectors`."""
    return np.frombuffer(packed, dtype=STORED_VECTORS).reshape(-1, dimensions)


class _Rows:
    """One level: a matrix with room to grow, and for each row its node's and its document's number.

    Rows stand in the order of their nodes' numbers, so that ties are always broken alike. Those of a
    removed document get document 0 and are closed up when there are many.
    """

    def __init__(self, expected: int, dimensions: int) -> None:
        capacity = int(expected * _GROWTH) + _SLACK_ROWS  # untouched pages cost no memory
        self.dimensions = dimensions
        self._matrix: Matrix = np.empty((capacity, dimensions), dtype=np.float32)
        self._numbers = np.zeros(capacity, dtype=np.int64)
        self._documents = np.zeros(capacity, dtype=np.int64)
        self._length = 0
        self._removed = 0

    def append(self, first_number: int, document: int, vectors: NDArray[np.float16]) -> None:
        """Add a document's rows, numbered from `first_number`."""
        start, end = self._length, self._length + len(vectors)
        if end > len(self._matrix):
            self._grow(end)
        self._matrix[start:end] = vectors
        self._numbers[start:end] = np.arange(first_number, first_number + len(vectors))
        self._documents[start:end] = document
        self._length = end

    def remove(self, documents: Collection[int]) -> None:
        """Take out the rows of some documents."""
        if not documents:
            return
        owners = self._documents[: self._length]
        owners[np.isin(owners, list(documents))] = 0
        self._removed = int(np.count_nonzero(owners == 0))
        if self._removed > self._length * _COMPACTED_SHARE:
            self._compact()

    def search(self, vector: Vector, limit: int, documents: Collection[int] | None) -> list[Scored]:
        """The `limit` best rows by dot product; ties in the order of the rows."""
        scores = self._matrix[: self._length] @ vector
        if documents is not None:
            scores[~np.isin(self._documents[: self._length], list(documents))] = -np.inf
        elif self._removed:
            scores[self._documents[: self._length] == 0] = -np.inf
        best = _top(scores, limit)
        return [
            Scored(number, score)
            for number, score in zip(self._numbers[best].tolist(), scores[best].tolist(), strict=True)
        ]

    def _grow(self, needed: int) -> None:
        capacity = int(needed * _GROWTH) + _SLACK_ROWS
        self._matrix.resize((capacity, self.dimensions), refcheck=False)  # in place where the system can
        self._numbers.resize(capacity, refcheck=False)
        self._documents.resize(capacity, refcheck=False)

    def _compact(self) -> None:
        kept = np.flatnonzero(self._documents[: self._length])
        for start in range(0, len(kept), _COMPACTED_ROWS):
            moved = kept[start : start + _COMPACTED_ROWS]  # never before its new place: nothing is lost
            place = slice(start, start + len(moved))
            self._matrix[place] = self._matrix[moved]
            self._numbers[place] = self._numbers[moved]
            self._documents[place] = self._documents[moved]
        self._length, self._removed = len(kept), 0


def _top(scores: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Positions of the `limit` highest finite scores, best first, ties in order."""
    if limit < len(scores):
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        candidates = np.flatnonzero((scores >= threshold) & (scores > -np.inf))
    else:
        candidates = np.flatnonzero(scores > -np.inf)
    order = np.argsort(-scores[candidates], kind="stable")
    return candidates[order[:limit]]
