"""Words that stand in several places: numbers with their nouns, the heading of the closest passages."""

from __future__ import annotations

CLOSEST = "The documents may not answer this. Closest:"


def well_formed(text: str) -> str:
    """The text with "?" for halves of surrogate pairs, which no file and no store can hold."""
    return text.encode(errors="replace").decode()


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an "s" for all numbers but one: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
