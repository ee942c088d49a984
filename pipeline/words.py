"""Words that stand in several places: numbers with their nouns, the heading of the closest passages."""

from __future__ import annotations

CLOSEST = "The documents may not answer this. Closest:"


def well_formed(text: str) -> str:
    """The text with "?" for halves of surrogate pairs, which no file and no store can hold."""
    return text.encode(errors="replace").decode()


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural for all numbers but one: "1 row", "1,200 rows", "2 memories"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith(("ry", "ty")) else f"{number:,} {noun}s"
