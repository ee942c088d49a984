"""The two sides of a comparison: "compare A and B", "difference between A and B", "A vs B"."""

from __future__ import annotations

import re
from typing import NamedTuple

_BETWEEN = r"(?P<one>.+?)\s+(?:and|&|or|with|to|against|from)\s+(?P<two>.+)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"\bhow\s+(?:do|does|is|are)\s+(?P<one>.+?)\s+compared?\s+(?:to|with|against)\s+(?P<two>.+)",
        rf"\b(?:difference|differences|comparison|compare[sd]?|comparing|distinguish)\s+"
        rf"(?:(?:between|of|in)\s+)?{_BETWEEN}",
        r"(?:\bhow\s+)?\b(?:do|does|is|are)\s+(?P<one>.+?)\s+(?:differ|different|better|worse|faster|slower)"
        r"\s+(?:from|than|to)\s+(?P<two>.+)",
        r"\bhow\s+(?:do|does)\s+(?P<one>.+?)\s+and\s+(?P<two>.+?)\s+differ\b",
        r"(?P<one>.+?)\s+(?:vs\.?|versus)\s+(?P<two>.+)",
    )
)
# What stands around a side and is no part of it.
_BEFORE = re.compile(
    r"^\W*(?:(?:what(?:'s| is| are)?|please|can you|could you|tell me|explain|the|an?|between|both|of|in)"
    r"\s+)+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:[?.!,;:].*|\b(?:please|each other|to each other|for me|in (?:general|short|detail))\W*)$",
    re.DOTALL,
)
LONGEST = 8  # words of a side: a longer one is a clause of its own


class Sides(NamedTuple):
    """What is compared, in the words of the question."""

    one: str
    two: str


def sides_of(question: str) -> Sides | None:
    """The two things that a question compares; None where it names no two."""
    for pattern in _PATTERNS:
        found = pattern.search(question)
        if found:
            sides = Sides(_bare(found["one"]), _bare(found["two"]))
            if all(0 < len(side.split()) <= LONGEST for side in sides) and sides.one != sides.two:
                return sides
    return None


def _bare(side: str) -> str:
    return _AFTER.sub("", _BEFORE.sub("", side.strip())).strip(" \"'`*")
