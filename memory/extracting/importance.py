"""How much a statement matters, by rules; 5 where none says otherwise."""

from __future__ import annotations

from memory.extracting.records import Importance

UNKNOWN = Importance(5, "nothing says how much it matters")


def importance_of(text: str) -> Importance:
    """The rating of a text, 1 to 10, with the rule that gave it."""
    del text
    return UNKNOWN
