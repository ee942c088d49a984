"""Exact dense search over all vectors, which are read once and then kept up to date.

NumPy is imported when the first vector is read: an ingest with nothing to do reads none.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pipeline.stores.base import LEVELS, Level, SearchRequest, Vector
from pipeline.stores.embedded.database import as_json
from pipeline.stores.embedded.documents import STORED_VECTORS, Scored, State, document_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_BLOCKS = 64  # each change adds one; if there are more, all vectors are read again

_VECTORS = """
    SELECT number, sections, sections + sentences, vectors FROM embedding JOIN document ON number = document
    WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number
"""
_PLACES = """
    SELECT id, number, document FROM node WHERE id IN (SELECT value FROM json_each(?))
"""


class Block(NamedTuple):
    """Rows of one level, in the order of their nodes' numbers, so that ties are always broken alike."""

    vectors: NDArray[np.float32]  # (rows, dimensions)
    numbers: NDArray[np.int64]  # of the nodes
    documents: NDArray[np.int64]  # numbers; 0 once a document is removed


class VectorIndex:
    """The vectors of both levels; safe to use from several threads, which search one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: State | None = None
        self._documents: frozenset[int] = frozenset()
        self._blocks: list[dict[Level, Block]] = []

    def search(
        self,
        connection: sqlite3.Connection,
        state: State,
        *,
        request: SearchRequest,
        documents: Collection[int] | None,
    ) -> dict[Level, list[Scored]]:
        """Return the nodes nearest to a request's vector by cosine, best first, a list per level.

        `documents` limits the search to the documents with these numbers. {} if there is no vector.
        """
        if (vector := request.vector) is None:
            return {}
        limits = request.limits
        with self._lock:
            known = self._state
            if known is None or known.index_id != state.index_id or known.generation < state.generation:
                self._catch_up(connection, state, dimensions=len(vector))
            # One after the other: 20 at once fight for the memory and take four times as long.
            return {
                level: nearest([one[level] for one in self._blocks], vector, limits[level], documents)
                for level in LEVELS
            }

    def _catch_up(self, connection: sqlite3.Connection, state: State, *, dimensions: int) -> None:
        now = document_numbers(connection)
        gone = self._documents - now
        is_other = self._state is None or self._state.index_id != state.index_id
        if is_other or len(gone) > len(now) or len(self._blocks) > MOST_BLOCKS:
            self._blocks, self._documents, gone = [], frozenset(), frozenset()  # freed first
        self._state = None  # an error below makes the next search read everything
        added = read_blocks(connection, now - self._documents, dimensions=dimensions)
        self._blocks = [{level: without(one[level], gone) for level in LEVELS} for one in self._blocks]
        self._blocks.append(added)
        self._state, self._documents = state, now


def read_blocks(
    connection: sqlite3.Connection, documents: Collection[int], *, dimensions: int
) -> dict[Level, Block]:
    """Read the vectors of the documents with these numbers, as one block per level."""
    import numpy as np

    none = np.empty(0, dtype=np.int64)
    read = {level: [Block(np.empty((0, dimensions), dtype=np.float16), none, none)] for level in LEVELS}
    for number, sections, nodes, packed in connection.execute(_VECTORS, (as_json(documents),)):
        stored = np.frombuffer(packed, dtype=STORED_VECTORS).reshape(-1, dimensions)
        for level, start, end in zip(LEVELS, (0, sections), (sections, nodes), strict=True):
            numbers = np.arange(number + 1 + start, number + 1 + end)
            read[level].append(Block(stored[start:end], numbers, np.full(end - start, number)))
    return {level: _joined(blocks) for level, blocks in read.items()}


def _joined(blocks: Sequence[Block]) -> Block:
    import numpy as np

    vectors, numbers, documents = zip(*blocks, strict=True)
    return Block(
        np.concatenate(vectors, dtype=np.float32), np.concatenate(numbers), np.concatenate(documents)
    )


def without(block: Block, gone: Collection[int]) -> Block:
    """Return a block with the rows of the documents `gone` marked as removed: their document becomes 0."""
    import numpy as np

    return block._replace(documents=np.where(np.isin(block.documents, list(gone)), 0, block.documents))


def nearest(
    blocks: Iterable[Block], vector: Vector, limit: int, documents: Collection[int] | None
) -> list[Scored]:
    """Return the `limit` best rows by dot product, best first, ties by number; `documents` limits them."""
    found = [scored for block in blocks for scored in _nearest(block, vector, limit, documents)]
    return sorted(found, key=lambda scored: (-scored.score, scored.number))[:limit]


def _nearest(block: Block, vector: Vector, limit: int, documents: Collection[int] | None) -> list[Scored]:
    import numpy as np

    scores, owners = np.vecdot(block.vectors, vector), block.documents  # `@` leaves a thread spinning
    allowed = owners != 0 if documents is None else np.isin(owners, list(documents))
    scores[~allowed] = -np.inf
    threshold = np.partition(scores, -limit)[-limit] if limit < len(scores) else -np.inf
    found = np.flatnonzero((scores >= threshold) & (scores > -np.inf))
    best = found[np.argsort(-scores[found], kind="stable")[:limit]]
    pairs = zip(block.numbers[best].tolist(), scores[best].tolist(), strict=True)
    return [Scored(number, score) for number, score in pairs]


def read_vectors(connection: sqlite3.Connection, node_ids: Iterable[str]) -> dict[str, Vector]:
    """Return the stored vectors of sections and sentences by id; an id that is not stored is missing."""
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
