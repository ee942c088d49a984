"""Opposites without numbers: "open" and "closed", "on" and "off", by the words of `statements.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from memory.extracting.predicates import statement_data

_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_ADVERBS = frozenset(
    ("now", "fully", "completely", "still", "always", "again", "currently", "all", "quite", "very")
)
_AFTER = re.compile(
    r"\s+(?:at|in|during|when|while|until|till|by|overnight|all|for|from|since|after|before)\b|\W*$"
)
"""What stands after "on" or "up" where it is a state: elsewhere it is a preposition."""


def opposed(one: str, other: str) -> bool:
    """Whether two objects are opposites: the same words but for one, and that the other side of a pair."""
    first, second = (_words(text) for text in (one, other))
    if len(first) != len(second):
        return False
    apart = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(apart) != 1:
        return False
    sides = _sides().get(apart[0][0], {}), _sides().get(apart[0][1], {})
    return any(sides[1].get(pair, side) != side for pair, side in sides[0].items())


def sides_in(text: str) -> frozenset[str]:
    """The sides of pairs that a text takes, equal for equal ones: "shut" and "closed" are one side."""
    return frozenset(
        f"{pair}:{side}"
        for match in _WORD.finditer(text)
        for pair, side in _sides().get(match[0].casefold(), {}).items()
        if match[0].casefold() not in _prepositions() or _AFTER.match(text, match.end())
    )


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _ADVERBS]


@lru_cache(maxsize=1)
def _sides() -> Mapping[str, Mapping[int, int]]:
    """Each word's side, by pair: a word such as "free" has a side in several."""
    found: dict[str, dict[int, int]] = {}
    for number, pair in enumerate(statement_data()["opposites"]["pairs"]):
        for side, words in enumerate(pair):
            for word in words:
                found.setdefault(word, {})[number] = side
    return found


@lru_cache(maxsize=1)
def _prepositions() -> frozenset[str]:
    return frozenset(statement_data()["opposites"]["prepositions"])
