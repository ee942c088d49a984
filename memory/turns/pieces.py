"""What of a turn is indexed: short pieces of it, without the questions that it asks."""

from __future__ import annotations

import re
from dataclasses import dataclass

PIECE_WORDS = 60
"""A turn up to this long is one piece. A small embedding model was trained on texts of this size."""

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")

# Words that date what is said. Months and days are capitalised: "may" is no month.
_DATED = re.compile(
    r"\b(?i:yesterday|today|tonight|tomorrow|ago|since|last|next|(?:week|month|year)s?|weekends?|"
    r"this (?:morning|evening)|spring|summer|autumn|winter|\d{4}|\d{1,2}(?:st|nd|rd|th))\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|Easter)s?\b"
)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A turn as it is indexed."""

    texts: tuple[str, ...]  # at least one
    asking: float  # the share of the turn's words that stand in questions, 0..1
    dated: bool  # whether it says when


def cut(text: str) -> Pieces:
    """Cut a turn into pieces of at most `PIECE_WORDS` words, between sentences where that is possible.

    A question is left out of a piece that says something, too: who asks something does not know it. A piece
    of nothing but questions stays, because the answer beside it is found by it.
    """
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    words = [len(sentence.split()) for sentence in sentences]
    asked = sum(count for sentence, count in zip(sentences, words, strict=True) if _asks(sentence))
    groups: list[list[str]] = [[]]
    size = 0
    for sentence in sentences:
        for part in _parts(sentence):
            count = len(part.split())
            if groups[-1] and size + count > PIECE_WORDS:
                groups.append([])
                size = 0
            groups[-1].append(part)
            size += count
    texts = tuple(_said(group) for group in groups)
    return Pieces(texts, asked / sum(words) if sentences else 0.0, bool(_DATED.search(text)))


def _parts(sentence: str) -> list[str]:
    """A sentence, or pieces of one that is too long to be one (code, tables, lists)."""
    words = sentence.split()
    if len(words) <= PIECE_WORDS:
        return [sentence.strip()]
    return [" ".join(words[start : start + PIECE_WORDS]) for start in range(0, len(words), PIECE_WORDS)]


def _said(sentences: list[str]) -> str:
    return " ".join([sentence for sentence in sentences if not _asks(sentence)] or sentences)


def _asks(sentence: str) -> bool:
    return sentence.rstrip().endswith("?")
