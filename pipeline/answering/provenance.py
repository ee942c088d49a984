"""Citations outlive edits: whether a cited passage is still there, moved, changed or gone."""

from __future__ import annotations

import difflib
import hashlib
import heapq
import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from pipeline.answer import Citation

Status = Literal["same", "moved", "changed", "gone"]
ALIKE = 0.6  # a passage with this share of words in common, in order, is changed and not gone
CANDIDATES = 12  # passages that are compared word by word


@dataclass(frozen=True, slots=True)
class Provenance:
    """What became of a citation; the span says where the passage is now, None if it is gone."""

    status: Status
    start: int | None = None
    end: int | None = None
    text: str = ""  # the passage as it is now


def quote_hash(quote: str) -> str:
    """The hash that a citation keeps of its quote."""
    return hashlib.sha256(quote.encode()).hexdigest()


def provenance(citation: Citation, text: str | None) -> Provenance:
    """Compare a citation with the file's text today; `text` is None if the file is no longer indexed."""
    if text is None:
        return Provenance("gone")
    if text[citation.start : citation.end] == citation.quote:
        return Provenance("same", citation.start, citation.end, citation.quote)
    moved = _nearest_copy(text, citation.quote, citation.start)
    if moved is not None:
        return Provenance("moved", *moved, text[moved[0] : moved[1]])
    return _changed(citation, text)


def _nearest_copy(text: str, quote: str, near: int) -> tuple[int, int] | None:
    """Where the same words stand now, however the lines are broken, nearest to where they stood."""
    words = [re.escape(word) for word in quote.split()]
    if not words:
        return None
    places = [match.span() for match in re.finditer(r"\s+".join(words), text)]
    return min(places, key=lambda span: abs(span[0] - near), default=None)


def _changed(citation: Citation, text: str) -> Provenance:
    """The sentences that are most like the quote, about as many as it has."""
    wanted = citation.quote.split()
    bag = Counter(wanted)
    spans = _runs(_pieces(text), longest=len(_pieces(citation.quote)) + 1)
    near = heapq.nlargest(CANDIDATES, spans, key=lambda span: _shared(bag, text[span[0] : span[1]].split()))
    alike = {span: _alike(wanted, text[span[0] : span[1]].split()) for span in near}
    best = max(alike, key=lambda span: (alike[span], -abs(span[0] - citation.start)), default=None)
    if best is None or alike[best] < ALIKE:
        return Provenance("gone")
    return Provenance("changed", *best, text[best[0] : best[1]])


def _shared(bag: Counter[str], words: list[str]) -> float:
    """The share of words in common, whatever their order: an upper bound of `_alike`."""
    return 2 * (bag & Counter(words)).total() / max(1, bag.total() + len(words))


def _alike(wanted: list[str], words: list[str]) -> float:
    return difflib.SequenceMatcher(a=wanted, b=words, autojunk=False).ratio()


def _pieces(text: str) -> list[tuple[int, int]]:
    """Spans of sentences and lines, without the white space around them."""
    pieces, start = [], 0
    for match in re.finditer(r"(?<=[.!?])\s+|\s*\n\s*|\Z", text):
        if text[start : match.start()].strip():
            pieces.append((start, match.start()))
        start = match.end()
    return pieces


def _runs(pieces: list[tuple[int, int]], *, longest: int) -> list[tuple[int, int]]:
    """Spans of one piece and of several in a row."""
    return [
        (pieces[first][0], pieces[last][1])
        for first in range(len(pieces))
        for last in range(first, min(first + longest, len(pieces)))
    ]
