"""Predicates: their normalised names, and which of them have one value at a time."""

from __future__ import annotations


def single_valued(predicate: str) -> bool:
    """True where another object of the same subject replaces the one before (`home`), False for `likes`."""
    del predicate
    return False
