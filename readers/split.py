"""Dividing a text that is too long: at the coarsest cuts that make pieces short enough."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence

Cut = Callable[[str], Sequence[int]]
"""From a text to the offsets, rising, at which it may be cut."""
Span = tuple[int, int]

CHARACTERS_PER_TOKEN = 8
"""How far ahead a piece's end is looked for, in characters per token; beyond lie only rarities."""
USUAL_CHARACTERS_PER_TOKEN = 3
GUESSES = 4
"""Looks by estimate before the search goes by halves, which no text can make slow."""


def cut_after(pattern: str) -> Cut:
    """Cuts behind every match of `pattern`."""
    compiled = re.compile(pattern)
    return lambda text: array("q", (match.end() for match in compiled.finditer(text)))


LINES = cut_after(r"\r\n?|\n")
CELLS = cut_after(r"(?<!\\)\|")
CLAUSES = cut_after(r"[,;:)\]–—]\s+")
WORDS = cut_after(r"\s+")


class TokenLimit:
    """Whether texts have at most `max_tokens` tokens, counted only where it is in doubt."""

    def __init__(self, count_tokens: Callable[[str], int], max_tokens: int) -> None:
        self.count_tokens = count_tokens
        self.max_tokens = max_tokens
        self.reach = CHARACTERS_PER_TOKEN * max_tokens

    def allows(self, text: str) -> bool:
        """Whether `text` is short enough; no token is shorter than a character."""
        if len(text) <= self.max_tokens:
            return True
        if len(text) > self.reach and sum(map(len, text.split())) > self.reach:
            return False
        return self.count_tokens(text) <= self.max_tokens


def divide(text: str, *, limit: TokenLimit, cuts: Sequence[Cut]) -> list[Span]:
    """Spans that cover `text`, in order, each within the limit when stripped.

    Cut at the first of `cuts` as late as possible; where a single unit is too long, that unit at
    the next one; finally anywhere.
    """
    if limit.allows(text.strip()):
        return [(0, len(text))]
    ends = _ends(text, cuts)
    spans: list[Span] = []
    position, usual = 0, USUAL_CHARACTERS_PER_TOKEN * limit.max_tokens
    while position < len(text):
        end, usual = _last_fitting(text, position, ends, limit, expected=usual)
        if end:
            spans.append((position, end))
        else:
            end = ends[bisect_right(ends, position)]
            # A single unit that is too long: the finer cuts; a single character stays.
            inner = divide(text[position:end], limit=limit, cuts=cuts[1:]) if cuts else [(0, end - position)]
            spans += [(position + first, position + last) for first, last in inner]
        position = end
    return spans


def _ends(text: str, cuts: Sequence[Cut]) -> Sequence[int]:
    if not cuts:
        return range(1, len(text) + 1)
    ends = array("q", cuts[0](text))  # a fifth of a list's memory
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


def _last_fitting(
    text: str, position: int, ends: Sequence[int], limit: TokenLimit, *, expected: int
) -> tuple[int, int]:
    """The last of `ends` up to which the text from `position` fits; 0 if none does.

    Counting is dear: the first looks are where the last count says the limit should be reached, `expected`
    characters on. That number, as it is now, also comes back.
    """
    low, high = bisect_right(ends, position), bisect_right(ends, position + limit.reach)
    best, look = 0, 0
    while low < high:
        middle = (low + high) // 2
        if look < GUESSES:
            middle = min(max(bisect_right(ends, position + expected) - 1, low), high - 1)
        piece = text[position : ends[middle]]
        tokens = limit.count_tokens(piece.strip())
        if tokens <= limit.max_tokens:
            best, low = ends[middle], middle + 1
        else:
            high = middle
        expected = len(piece) * limit.max_tokens // max(tokens, 1)
        look += 1
    return best, expected
