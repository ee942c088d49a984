"""The vectors of one level as rows of a matrix: added, removed and searched."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from pipeline.stores.base import Matrix, Vector
from pipeline.stores.embedded.documents import STORED_VECTORS, Scored

_GROWTH = 1.25
_SLACK_ROWS = 256
_COMPACTED_SHARE = 0.25  # rows of removed documents, above which the matrix is closed up
_COMPACTED_ROWS = 8192  # rows moved at once


def unpack(packed: bytes, dimensions: int) -> NDArray[np.float16]:
    """The rows of one `embedding.vectors`."""
    return np.frombuffer(packed, dtype=STORED_VECTORS).reshape(-1, dimensions)


class VectorRows:
    """One level: a matrix with room to grow, and for each row its node's and its document's number.

    They stand in the order of their nodes' numbers, so that ties are always broken alike. Those of a
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
