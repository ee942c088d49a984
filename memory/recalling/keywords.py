"""BM25 over a user's memories, in the process; rows come and go by number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

K1, B = 0.8, 0.75  # a turn is short: that a word stands in it twice says little

Postings = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]  # rows, counts, lengths


class Keywords:
    """Terms by row, and rows by term."""

    def __init__(self) -> None:
        self._terms: dict[int, Mapping[str, int]] = {}
        self._rows: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, Postings] = {}  # of the terms that were asked for
        self._lengths: dict[int, int] = {}
        self._total = 0

    def add(self, row: int, terms: Iterable[str]) -> None:
        """Take in a row that is new."""
        counts = Counter(terms)
        self._terms[row] = counts
        self._lengths[row] = counts.total()
        self._total += counts.total()
        for term, count in counts.items():
            self._rows.setdefault(term, {})[row] = count
            self._arrays.pop(term, None)

    def remove(self, row: int) -> None:
        """Forget a row."""
        counts = self._terms.pop(row)
        self._total -= self._lengths.pop(row)
        for term in counts:
            rows = self._rows[term]
            del rows[row]
            self._arrays.pop(term, None)
            if not rows:
                del self._rows[term]

    def __contains__(self, term: str) -> bool:
        return term in self._rows

    def terms_of(self, row: int) -> Iterable[str]:
        """The different terms of a row."""
        return self._terms[row]

    def rarity(self, term: str) -> float:
        """How much an occurrence of a term says: most of one that no row has."""
        rows = len(self._rows.get(term, ()))
        return math.log(1 + (len(self._terms) - rows + 0.5) / (rows + 0.5))

    def has_all(self, row: int, terms: Iterable[str]) -> bool:
        """Whether a row has every one of the terms."""
        return set(terms) <= self._terms[row].keys()

    def scores(self, terms: Iterable[str], *, size: int) -> NDArray[np.float32]:
        """Each row's score for a query, shape (size,); 0 where no term occurs."""
        found = np.zeros(size, dtype=np.float32)
        mean = self._total / max(1, len(self._terms))
        for term in dict.fromkeys(terms):
            if term not in self._rows:
                continue
            rows, weights = self._weights(term, mean)
            found[rows] += weights
        return found

    def _weights(self, term: str, mean: float) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        if term not in self._arrays:
            rows = self._rows[term]
            lengths = (self._lengths[row] for row in rows)
            self._arrays[term] = (
                np.fromiter(rows, dtype=np.int32, count=len(rows)),
                np.fromiter(rows.values(), dtype=np.float32, count=len(rows)),
                np.fromiter(lengths, dtype=np.float32, count=len(rows)),
            )
        numbers, counts, sizes = self._arrays[term]
        weights = self.rarity(term) * counts * (K1 + 1) / (counts + K1 * (1 - B + B * sizes / mean))
        return numbers, weights.astype(np.float32)
