"""Divide a text that is too long, at the coarsest cuts that make its pieces short enough."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Cut = Callable[[str], Sequence[int]]
"""Takes a text; returns the offsets, rising, where its parts end. The last one is the text's length."""
Span = tuple[int, int]

CHARACTERS_PER_TOKEN = 8
"""A piece's end is looked for so many characters ahead per token; words are shorter."""


def cut_after(pattern: str) -> Cut:
    """Return a function that cuts a text behind every match of `pattern`."""
    compiled = re.compile(rf"{pattern}|\Z")
    return lambda text: array("q", (match.end() for match in compiled.finditer(text)))


LINES = cut_after(r"\r\n?|\n")
CELLS = cut_after(r"(?<!\\)\|")
CLAUSES = cut_after(r"[,;:)\]–—]\s+")
WORDS = cut_after(r"\s+")


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """The most tokens of a text; `count_tokens` is called only if the length does not decide."""

    count_tokens: Callable[[str], int]
    max_tokens: int

    @property
    def reach(self) -> int:
        """Characters; a text with more visible ones is taken for too long."""
        return CHARACTERS_PER_TOKEN * self.max_tokens

    def allows(self, text: str) -> bool:
        """Whether `text` is short enough; no token is shorter than a character."""
        is_too_long = len(text) > self.reach and sum(map(len, text.split())) > self.reach
        return len(text) <= self.max_tokens or (
            not is_too_long and self.count_tokens(text) <= self.max_tokens
        )


def divide(text: str, *, limit: TokenLimit, cuts: Sequence[Cut]) -> list[Span]:
    """Return spans that cover `text`, in order, each within the limit when stripped.

    The text is cut at the first of `cuts`, as late as possible; a single unit that is too long, at the next
    one; in the end anywhere. A single character stays, whatever the limit.
    """
    if limit.allows(text.strip()) or len(text) == 1:
        return [(0, len(text))]
    ends = cuts[0](text) if cuts else range(1, len(text) + 1)
    spans: list[Span] = []
    position = 0
    while position < len(text):
        first, last = bisect_right(ends, position), bisect_right(ends, position + limit.reach)
        fitting = bisect_left(
            ends, True, first, last, key=lambda end: not limit.allows(text[position:end].strip())
        )
        end = ends[max(first, fitting - 1)]
        inner = (
            [(0, end - position)]
            if fitting > first
            else divide(text[position:end], limit=limit, cuts=cuts[1:])
        )
        spans += [(position + start, position + stop) for start, stop in inner]
        position = end
    return spans
