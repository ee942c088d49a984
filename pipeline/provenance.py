"""Citations outlive edits: whether a cited passage is still there, moved, changed or gone."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from typing import Literal

from pipeline.answer import Citation

Status = Literal["same", "moved", "changed", "gone"]
ALIKE = 0.6  # share of the words, in order, from which a passage counts as changed and not as gone


@dataclass(frozen=True, slots=True)
class Provenance:
    """What became of a citation; the span is where the passage is now, None where it is gone."""

    status: Status
    start: int | None = None
    end: int | None = None
    text: str = ""  # the passage as it is now


def quote_hash(quote: str) -> str:
    """The hash that a citation keeps of its quote."""
    return hashlib.sha256(quote.encode()).hexdigest()


def provenance(citation: Citation, text: str | None) -> Provenance:
    """Compare a citation with the file's text today; None where the file is not indexed any more."""
    if text is None:
        return Provenance("gone")
    if text[citation.start : citation.end] == citation.quote:
        return Provenance("same", citation.start, citation.end, citation.quote)
    moved = _nearest_copy(text, citation.quote, citation.start)
    if moved is not None:
        return Provenance("moved", moved, moved + len(citation.quote), citation.quote)
    return _changed(citation, text)


def _nearest_copy(text: str, quote: str, near: int) -> int | None:
    """Where the same words stand now, nearest to where they stood."""
    places = []
    place = text.find(quote)
    while place != -1 and quote:
        places.append(place)
        place = text.find(quote, place + 1)
    return min(places, key=lambda found: abs(found - near), default=None)


def _changed(citation: Citation, text: str) -> Provenance:
    """The passage that is most like the quote: a line or paragraph with enough of its words."""
    wanted = citation.quote.split()
    best, best_span = 0.0, (0, 0)
    for start, end in _paragraphs(text):
        matcher = difflib.SequenceMatcher(a=wanted, b=text[start:end].split(), autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        share = sum(block.size for block in blocks) / max(1, len(wanted))
        if share > best:
            best, best_span = share, (start, end)
    if best < ALIKE:
        return Provenance("gone")
    start, end = _sentence_in(text, best_span, wanted)
    return Provenance("changed", start, end, text[start:end])


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Spans of the text between blank lines."""
    spans, start, position = [], 0, 0
    for line in text.splitlines(keepends=True):
        if not line.strip():
            if text[start:position].strip():
                spans.append((start, position))
            start = position + len(line)
        position += len(line)
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def _sentence_in(text: str, span: tuple[int, int], wanted: list[str]) -> tuple[int, int]:
    """Narrow a paragraph down to the sentence or line that has most of the wanted words."""
    start, end = span
    pieces, position = [], start
    for index in range(start, end):
        if text[index] == "\n" or (text[index] in ".!?" and index + 1 < end and text[index + 1].isspace()):
            pieces.append((position, index + 1))
            position = index + 1
    pieces.append((position, end))
    words = set(wanted)
    best = max(pieces, key=lambda piece: len(words & set(text[piece[0] : piece[1]].split())))
    inside = text[best[0] : best[1]]
    lead = len(inside) - len(inside.lstrip())
    return best[0] + lead, best[0] + len(inside.rstrip())
