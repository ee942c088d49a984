"""Spelling: replace a word that no document has by a word of the documents that is one edit away."""

from __future__ import annotations

import re

from pipeline.analysis import analyse, stop_terms
from pipeline.stores.base import DocumentStore

ANY_EDIT = 6  # letters; shorter words are often right although another is one edit away (spot, slot)
# Four letters or more, and no part of a path, an id or an option; shorter words have too many neighbours.
_WORD = re.compile(r"(?<![\w./@-])[^\W\d_]{4,40}(?![\w/@-]|\.\w)")


def corrected(question: str, index: DocumentStore) -> str:
    """Return the question with its misspelt words corrected; raises `StoreError`.

    One edit (Damerau, 1964) inserts, deletes or changes a letter after the first, or swaps two. Words of four
    letters are corrected by a swap only, words of five also by an insertion. Of several candidates, one with
    the same letters is taken, else the longest.
    """
    terms = {found[0]: {*analyse(found[0].lower())} for found in _WORD.finditer(question)}
    lacking = index.lacking(set().union(*terms.values()) - stop_terms())

    def meant(found: re.Match[str]) -> str:
        return _nearest(found[0], index) if terms[found[0]] <= lacking else found[0]

    return _WORD.sub(meant, question)


def is_misspelt(asked: str, question: str) -> bool:
    """Return whether a correction changed more than a last letter, as `warranty` to `warrant` does not."""
    pairs = zip(_WORD.findall(asked.lower()), _WORD.findall(question.lower()), strict=False)
    return any(was[: (last := max(len(was), len(word)) - 1)] != word[:last] for was, word in pairs)


def _nearest(written: str, index: DocumentStore) -> str:
    """Return the best word of the documents that is one edit away from `written`; if none, `written`."""
    from rapidfuzz.distance import OSA

    word, vocabulary = written.lower(), index.vocabulary(written[0].lower())
    near = [
        (sorted(other) == sorted(word), len(other), other)
        for other in vocabulary
        if (len(word) + (len(other) > len(word)) >= ANY_EDIT or sorted(other) == sorted(word))
        and OSA.distance(word, other, score_cutoff=1) == 1
    ]
    return max(near)[2] if near and word not in vocabulary else written
