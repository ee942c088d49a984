"""An in-process index that scores texts by their words (BM25) and by their vectors (cosine)."""

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
    """An index of texts, numbered from 0 in the order of their addition; no text is ever removed."""

    def __init__(self) -> None:
        self.vectors = np.zeros((0, 0), dtype=np.float32)  # a row for each text, with room for more
        self.terms: list[frozenset[str]] = []  # of each text
        self._lengths = array("f")  # in terms
        # By term: the numbers of the texts with it, and how often each has it.
        self._postings: dict[str, tuple[array[int], array[float]]] = {}

    def __len__(self) -> int:
        return len(self.terms)

    def add(self, terms: Sequence[str], vector: NDArray[np.float32]) -> None:
        """Add a text by its terms and its vector, of unit length."""
        number = len(self)
        for term, count in Counter(terms).items():
            found, counts = self._postings.setdefault(term, (array("q"), array("f")))
            found.append(number)
            counts.append(count)
        self.terms.append(frozenset(terms))
        self._lengths.append(len(terms))
        if number == len(self.vectors):
            grown = np.zeros((max(2 * number, FIRST_ROWS), len(vector)), dtype=np.float32)
            grown[:number] = self.vectors.reshape(number, len(vector))
            self.vectors = grown
        self.vectors[number] = vector

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a term; an unknown term has the highest."""
        texts = len(self._postings[term][0]) if term in self._postings else 0
        return math.log(1 + (len(self) - texts + 0.5) / (texts + 0.5))

    def similarities(self, vector: NDArray[np.float32]) -> Scores:
        """Return the cosine of each text and a vector of unit length; shape (texts,)."""
        if not len(self):
            return np.zeros(0, dtype=np.float32)
        # `@` would start a thread per core for a millisecond of work, and wait for all of them.
        return np.asarray(np.einsum("ij,j->i", self.vectors[: len(self)], vector), dtype=np.float32)

    def scores(self, terms: Iterable[str]) -> Scores:
        """Return the BM25 score of each text, shape (texts,); 0 if none of the terms occurs in it."""
        found = np.zeros(len(self), dtype=np.float32)
        lengths = np.array(self._lengths)
        for term in dict.fromkeys(terms):
            if term in self._postings:
                texts, counts = map(np.array, self._postings[term])
                sizes = lengths[texts] / lengths.mean(dtype=np.float64)
                found[texts] += self.rarity(term) * counts * (K1 + 1) / (counts + K1 * (1 - B + B * sizes))
        return found
