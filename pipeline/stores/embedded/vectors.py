"""Exact dense search over all vectors, which are read once and then kept up to date.

NumPy is imported with the first vector that is read: an ingest with nothing to do reads none.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from pipeline.stores.base import Level, Vector
from pipeline.stores.embedded.database import as_json
from pipeline.stores.embedded.documents import (
    STORED_VECTORS,
    Scored,
    State,
    document_numbers,
    read_statistics,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GROWTH = 1.25
SLACK_ROWS = 256
MOST_REMOVED = 0.25  # removed documents a present one; above it everything is read again

_VECTORS = """
    SELECT number, sections, sections + sentences, vectors FROM embedding JOIN document ON number = document
    WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_PLACES = """
    SELECT id, number, document FROM node WHERE id IN (SELECT value FROM json_each(?))
"""


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: State | None = None
        self._documents: frozenset[int] = frozenset()
        self._removed = 0  # documents whose rows are still in the matrices
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
            known = self._state
            if known is None or known.index_id != state.index_id or known.generation < state.generation:
                self._catch_up(connection, state, dimensions=len(vector))
            return {
                level: rows.search(vector, limits[level], documents) for level, rows in self._levels.items()
            }

    def close(self) -> None:
        """Free the memory; the next search reads everything again."""
        with self._lock:
            self._state, self._levels, self._documents = None, {}, frozenset()

    def _catch_up(self, connection: sqlite3.Connection, state: State, *, dimensions: int) -> None:
        import numpy as np

        now = document_numbers(connection)
        self._removed += len(self._documents - now)
        is_same = self._state is not None and self._state.index_id == state.index_id
        if not is_same or self._removed > MOST_REMOVED * len(now):
            self._levels = {}  # freed first: there is not room for both
            counts = read_statistics(connection)
            self._levels = {
                "section": VectorRows(counts.sections, dimensions),
                "sentence": VectorRows(counts.sentences, dimensions),
            }
            self._documents, self._removed = frozenset(), 0
        self._state = None  # an error below makes the next search read everything
        for rows in self._levels.values():
            rows.remove(self._documents - now)
        for number, sections, _, packed in connection.execute(_VECTORS, (as_json(now - self._documents),)):
            vectors = np.frombuffer(packed, dtype=STORED_VECTORS).reshape(-1, dimensions)
            self._levels["section"].append(number + 1, number, vectors[:sections])
            self._levels["sentence"].append(number + 1 + sections, number, vectors[sections:])
        self._state, self._documents = state, now


class VectorRows:
    """One level's vectors: a matrix with room to grow, and for each row its node's and its document's number.

    Rows stand in the order of their nodes' numbers, so that ties are always broken alike. Rows of a removed
    document get document 0.
    """

    def __init__(self, expected: int, dimensions: int) -> None:
        import numpy as np

        capacity = int(expected * GROWTH) + SLACK_ROWS  # untouched pages cost no memory
        self._matrix: NDArray[np.float32] = np.empty((capacity, dimensions), dtype=np.float32)
        self._numbers = np.zeros(capacity, dtype=np.int64)
        self._documents = np.zeros(capacity, dtype=np.int64)
        self._length = 0

    def append(self, first_number: int, document: int, vectors: NDArray[np.float16]) -> None:
        """Add a document's rows, numbered from `first_number`."""
        import numpy as np

        start, end = self._length, self._length + len(vectors)
        if end > len(self._matrix):  # grown in place where the system can
            capacity = int(end * GROWTH) + SLACK_ROWS
            self._matrix.resize((capacity, self._matrix.shape[1]), refcheck=False)
            self._numbers.resize(capacity, refcheck=False)
            self._documents.resize(capacity, refcheck=False)
        self._matrix[start:end] = vectors
        self._numbers[start:end] = np.arange(first_number, first_number + len(vectors))
        self._documents[start:end] = document
        self._length = end

    def remove(self, documents: Collection[int]) -> None:
        """Take out the rows of some documents."""
        import numpy as np

        owners = self._documents[: self._length]
        owners[np.isin(owners, list(documents))] = 0

    def search(self, vector: Vector, limit: int, documents: Collection[int] | None) -> list[Scored]:
        """The `limit` best rows by dot product, best first; ties in the order of the rows."""
        import numpy as np

        scores, owners = self._matrix[: self._length] @ vector, self._documents[: self._length]
        allowed = owners != 0 if documents is None else np.isin(owners, list(documents))
        scores[~allowed] = -np.inf
        if limit < len(scores):
            threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            found = np.flatnonzero((scores >= threshold) & (scores > -np.inf))
        else:
            found = np.flatnonzero(scores > -np.inf)
        best = found[np.argsort(-scores[found], kind="stable")[:limit]]
        pairs = zip(self._numbers[best].tolist(), scores[best].tolist(), strict=True)
        return [Scored(number, score) for number, score in pairs]


def read_vectors(connection: sqlite3.Connection, node_ids: Iterable[str]) -> dict[str, Vector]:
    """The stored vectors of sections and sentences by id; an id that is not stored is missing."""
    import numpy as np

    places = connection.execute(_PLACES, (as_json(node_ids),)).fetchall()
    rows = connection.execute(_VECTORS, (as_json({document for _, _, document in places}),))
    matrices = {
        number: np.frombuffer(packed, dtype=STORED_VECTORS).reshape(nodes, -1)
        for number, _, nodes, packed in rows
    }
    return {
        node_id: matrices[document][number - document - 1].astype(np.float32)
        for node_id, number, document in places
    }
