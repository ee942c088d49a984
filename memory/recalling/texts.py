"""Texts by number, in the process: found by their words (BM25) and by their vectors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

K1, B = 0.8, 0.75  # a turn is short: that a word stands in it twice says little
FIRST_ROWS = 64
NO_VECTOR = np.zeros(0, dtype=np.float32)

Postings = tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]  # rows, counts, lengths


class Texts:
    """Rows come one after the other; the number of one that is removed is not given again."""

    def __init__(self) -> None:
        self.size = 0  # of all scores
        self.vectors = np.zeros((FIRST_ROWS, 0), dtype=np.float32)  # by row, with room for more
        self._terms: dict[int, Mapping[str, int]] = {}
        self._rows: dict[str, dict[int, int]] = {}
        self._arrays: dict[str, Postings] = {}  # of the terms that were asked for
        self._lengths: dict[int, int] = {}
        self._total = 0

    def add(self, terms: Iterable[str], vector: NDArray[np.float32] = NO_VECTOR) -> int:
        """Take in a text: its terms, and its vector of unit length, if it has one; returns its row."""
        row, known = self.size, self.vectors.shape[1]
        if row >= len(self.vectors) or len(vector) > known:
            grown = np.zeros((max(2 * row, FIRST_ROWS), max(known, len(vector))), dtype=np.float32)
            grown[:row, :known] = self.vectors[:row]
            self.vectors = grown
        self.vectors[row, : len(vector)] = vector
        self.size += 1
        counts = Counter(terms)
        self._terms[row] = counts
        self._lengths[row] = counts.total()
        self._total += counts.total()
        for term, count in counts.items():
            self._rows.setdefault(term, {})[row] = count
            self._arrays.pop(term, None)
        return row

    def remove(self, row: int) -> None:
        """Forget a row: it scores 0."""
        self.vectors[row] = 0
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

    def similarities(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of each row and a vector of unit length, shape (size,); 0 without a vector."""
        if not self.vectors.shape[1]:
            return np.zeros(self.size, dtype=np.float32)
        # `@` wakes a thread a core for a millisecond's work, and on a busy machine waits for all of them.
        return np.asarray(np.einsum("ij,j->i", self.vectors[: self.size], vector), dtype=np.float32)

    def scores(self, terms: Iterable[str]) -> NDArray[np.float32]:
        """BM25 of each row, shape (size,); 0 where no term occurs."""
        found = np.zeros(self.size, dtype=np.float32)
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
