"""An index of texts in the process: scored by their words (BM25) and by their vectors."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores: TypeAlias = NDArray[np.float32]  # of each text: shape (texts,)

K1, B = 0.8, 0.75  # a low k1: texts are short, and a repeated word says little
FIRST_ROWS = 64


class Texts:
    """Texts of one or several pieces; a text scores as its best piece. Texts are only added."""

    def __init__(self) -> None:
        self._vectors = np.zeros((FIRST_ROWS, 0), dtype=np.float32)  # by piece, with room for more
        self._first = array("q")  # by text: its first piece
        self._terms: list[frozenset[str]] = []  # by piece
        self._lengths = array("f")  # by piece, in terms
        self._postings: dict[
            str, tuple[array[int], array[float]]
        ] = {}  # by term: pieces, and how often there

    def __len__(self) -> int:
        return len(self._first)

    def add(self, pieces: Sequence[Sequence[str]], vectors: NDArray[np.float32]) -> int:
        """Add a text by the terms and the vectors of its pieces; return its number."""
        first = len(self._terms)
        self._first.append(first)
        for terms in pieces:
            for term, count in Counter(terms).items():
                found, counts = self._postings.setdefault(term, (array("q"), array("f")))
                found.append(len(self._terms))
                counts.append(count)
            self._terms.append(frozenset(terms))
            self._lengths.append(len(terms))
        rows, width = len(self._terms), max(self._vectors.shape[1], vectors.shape[1])
        if rows > len(self._vectors) or width > self._vectors.shape[1]:
            grown = np.zeros((max(2 * rows, FIRST_ROWS), width), dtype=np.float32)
            grown[:first, : self._vectors.shape[1]] = self._vectors[:first]
            self._vectors = grown
        self._vectors[first : first + len(vectors), : vectors.shape[1]] = vectors
        return len(self._first) - 1

    def vectors_of(self, number: int) -> NDArray[np.float32]:
        """Return the vectors of a text: a row for each of its pieces."""
        pieces = self._pieces(number)
        return self._vectors[pieces.start : pieces.stop]

    def _pieces(self, number: int) -> range:
        end = self._first[number + 1] if number + 1 < len(self._first) else len(self._terms)
        return range(self._first[number], end)

    def terms_of(self, number: int) -> frozenset[str]:
        """Return the different terms of a text."""
        return frozenset[str]().union(*(self._terms[piece] for piece in self._pieces(number)))

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term over the pieces."""
        pieces = len(self._postings[term][0]) if term in self._postings else 0
        return math.log(1 + (len(self._terms) - pieces + 0.5) / (pieces + 0.5))

    def similarities(self, vector: NDArray[np.float32]) -> Scores:
        """Return the cosine of each text's nearest piece and a vector of unit length; shape (texts,)."""
        if not self._vectors.shape[1]:
            return np.zeros(len(self), dtype=np.float32)
        # `@` would start a thread per core for a millisecond of work, and wait for all of them.
        return self._best(np.einsum("ij,j->i", self._vectors[: len(self._terms)], vector))

    def scores(self, terms: Iterable[str]) -> Scores:
        """Return BM25 of each text's best piece; 0 where no term occurs; shape (texts,)."""
        found = np.zeros(len(self._terms), dtype=np.float32)
        lengths = np.array(self._lengths)
        for term in dict.fromkeys(terms):
            if term in self._postings:
                pieces, counts = map(np.array, self._postings[term])
                sizes = lengths[pieces] / lengths.mean(dtype=np.float64)
                found[pieces] += self.rarity(term) * counts * (K1 + 1) / (counts + K1 * (1 - B + B * sizes))
        return self._best(found)

    def _best(self, pieces: NDArray[np.float32]) -> Scores:
        if len(pieces) > len(self):
            pieces = np.maximum.reduceat(pieces, np.array(self._first))
        return np.asarray(pieces, dtype=np.float32)
