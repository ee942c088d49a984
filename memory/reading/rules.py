"""The rules of `statements.toml`, compiled, and the predicates they name: which have one value at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from memory.reading import filled, rules_of
from memory.reading.entities import entity_words
from memory.reading.records import Category

UNREAD = ("", "note")
"""Predicates of statements that no rule reads further."""

_OF_ONE = ("favourite ", "preferred ")
_OF_USER = ("personal", "work", "preference")  # lists of attributes


def single_valued(predicate: str) -> bool:
    """True where another object of the same subject replaces the one before (`home`), False for `likes`."""
    return predicate.startswith(_OF_ONE) or predicate in _single()


def has_several(predicate: str) -> bool:
    """True where a subject is known to have several objects (`likes`); False where nothing says so (`is`)."""
    several = {"to do", *(rule.predicate for rule in statement_rules())} - {"is", "", "{thing}"}
    return predicate in several and not single_valued(predicate)


def predicates_asked_for(question: str) -> Sequence[str]:
    """What "where do I live?" asks for: `home`; nothing where no verb of `statements.toml` is in it."""
    rows = rules_of("statements")["questions"].items()
    asked = question.casefold()
    return next((names for verb, names in rows if re.search(rf"\b(?:i {verb}|{verb} am i)\b", asked)), ())


def predicate_named(given: str) -> str:
    """The predicate for a user's words: "Favorite  color" is "favourite colour", "e-mail" is "email"."""
    names = rules_of("statements")["predicates"]
    name = " ".join(names.get(word, word) for word in given.casefold().split())
    return str(names.get(name, name))


@lru_cache(maxsize=1)
def _single() -> frozenset[str]:
    data = rules_of("statements")
    names = [predicate_named(name) for kind in _OF_USER for name in data["attributes"][kind]]
    return frozenset({*data["single"]["predicates"], *names})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule for statements, and what follows for what it finds."""

    predicate: str
    patterns: tuple[re.Pattern[str], ...]
    category: Category
    ends: bool = False
    negated: bool = False
    of: str = ""  # what its object is
    attribute: bool = False  # "my X is Y": its object keeps its day, and is anything where it is asked for
    over: bool = False  # it reads only what is said in so many words to be so no longer


@lru_cache(maxsize=1)
def statement_rules() -> tuple[Rule, ...]:
    """The rules for what users state about themselves; the first that fits counts."""
    return tuple(_rule(row) for row in rules_of("statements")["statement"])


@lru_cache(maxsize=1)
def fact_rules() -> tuple[Rule, ...]:
    """The rules for what is to be remembered, or put right, and is of anything."""
    return tuple(_rule({**row, "attribute": True}) for row in rules_of("statements")["fact"])


def _rule(row: Mapping[str, Any]) -> Rule:
    patterns = tuple(re.compile(filled(pattern, words())) for pattern in row["patterns"])
    return Rule(**{**row, "patterns": patterns, "category": Category(row.get("category", "general"))})


@lru_cache(maxsize=1)
def words() -> dict[str, str]:
    """What patterns of `statements.toml` name in braces."""
    data = rules_of("statements")
    lists = {**data["attributes"], "place": map(re.escape, rules_of("entities")["names"]["place"])}
    listed = {name: f"(?:{'|'.join(sorted(each, key=len)[::-1])})" for name, each in lists.items()}
    known = {name: f"(?:{entity_words()[name]})" for name in ("given_name", "product", "people")}
    return {**data["words"], **listed, **known}


@lru_cache(maxsize=1)
def belongings() -> frozenset[str]:
    """What a user can have that something is said of: "my car"."""
    lists = rules_of("statements")["attributes"]
    return frozenset((*lists["belongings"], *lists["numbered"], *lists["possessions"]))


class Importance(NamedTuple):
    """How much something matters, 1 to 10, and why."""

    rating: int
    explanation: str


def importance_of(text: str) -> Importance:
    """The rating of a text, 1 (trivial) to 10 (vital), with the first rule that fits."""
    for row in rules_of("statements")["importance"]["rows"]:
        if match := re.search(rf"\b(?:{row['words']})\b", text, re.IGNORECASE):
            return Importance(row["rating"], f"{row['why']}: “{match[0]}”")
    return Importance(5, "nothing says how much it matters")
