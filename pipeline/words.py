"""Numbers with their nouns, as people write them."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an "s" for all numbers but one: "1 row", "1,200 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
