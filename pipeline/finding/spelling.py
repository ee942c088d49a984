"""Spelling: a word that no document has is taken for the word of the documents that is one edit away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from pipeline.analysis import analyse
from pipeline.stores.base import SentenceIndex
from pipeline.terms import stop_terms

ANY_EDIT = 6  # letters; shorter words are often right where another is one edit away (spot, slot)
# Four letters or more, and no part of a path, an id or an option; shorter words have too many neighbours.
_WORD = re.compile(r"(?<![\w./@-])[^\W\d_]{4,40}(?![\w/@-]|\.\w)")


class Corrected(NamedTuple):
    """One corrected word: its offset in the question, the word there, and the word searched for instead."""

    start: int
    wrong: str
    right: str


def misspelt(question: str, index: SentenceIndex) -> list[Corrected]:
    """Return the misspelt words of a question with their corrections; raises `StoreError`.

    One edit (Damerau, 1964) inserts, deletes, changes or swaps letters after the first; of a short word it
    swaps letters or, of five, inserts one. Of several words the most frequent is meant.
    """
    from rapidfuzz.distance import OSA

    terms = {found: {*analyse(found[0].lower())} for found in _WORD.finditer(question)}
    lacking = index.lacking(set().union(*terms.values()) - stop_terms())
    corrected = []
    for found in (found for found, own in terms.items() if own <= lacking):
        word, vocabulary = found[0].lower(), index.vocabulary(found[0][0].lower())
        near = [
            (count, other)
            for other, count in vocabulary.items()
            if (len(word) + (len(other) > len(word)) >= ANY_EDIT or sorted(other) == sorted(word))
            and OSA.distance(word, other, score_cutoff=1) == 1
        ]
        if near and word not in vocabulary:
            corrected.append(Corrected(found.start(), found[0], max(near)[1]))
    return corrected


def with_words(question: str, words: Iterable[Corrected]) -> str:
    """The question with the corrected words in it."""
    for start, wrong, right in sorted(words, reverse=True):
        question = question[:start] + right + question[start + len(wrong) :]
    return question
