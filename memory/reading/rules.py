"""The rules of `statements.toml`, compiled, and the predicates they name: which have one value at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from memory.reading import rules_of
from memory.reading.entities import entity_words
from memory.reading.records import Category

UNREAD = ("", "note")
"""Predicates of statements that no rule reads further."""

_OF_ONE = ("favourite ", "preferred ")


def single_valued(predicate: str) -> bool:
    """True where another object of the same subject replaces the one before (`home`), False for `likes`."""
    return predicate.startswith(_OF_ONE) or predicate in _single()


def predicates_asked_for(question: str) -> tuple[str, ...]:
    """What "where do I live?" asks for: `home`; nothing where no verb of `statements.toml` is in it."""
    words = question.casefold()
    rows = rules_of("statements")["questions"]
    verb = next((verb for verb in rows if re.search(rf"\b(?:i {verb}|{verb} am i)\b", words)), None)
    return tuple(rows[verb]) if verb else ()


def predicate_named(words: str) -> str:
    """The predicate for a user's words: "Favorite  color" is "favourite colour", "e-mail" is "email"."""
    names = rules_of("statements")["predicates"]
    name = " ".join(names.get(word, word) for word in words.casefold().split())
    return str(names.get(name, name))


@lru_cache(maxsize=1)
def _single() -> frozenset[str]:
    data = rules_of("statements")
    attributes = data["attributes"]
    names = [name for kind in ("personal", "work", "preference") for name in attributes[kind]]
    return frozenset({*data["single"]["predicates"], *map(predicate_named, names)})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule for statements about the user, and what follows for what it finds."""

    predicate: str
    patterns: tuple[re.Pattern[str], ...]
    category: Category
    ends: bool = False
    negated: bool = False
    of: str = ""  # what its object is
    over: bool = False  # it reads only what is said in so many words to be so no longer


@lru_cache(maxsize=1)
def statement_rules() -> tuple[Rule, ...]:
    """The rules for what users state about themselves; the first that fits counts."""
    return tuple(
        Rule(
            **{
                **row,
                "patterns": tuple(re.compile(_expanded(pattern)) for pattern in row["patterns"]),
                "category": Category(row["category"]),
            }
        )
        for row in rules_of("statements")["statement"]
    )


def has_several(predicate: str) -> bool:
    """True where a subject is known to have several objects (`likes`); False where nothing says so (`is`)."""
    return predicate in _several()


@lru_cache(maxsize=1)
def _several() -> frozenset[str]:
    names = {rule.predicate for rule in statement_rules()} - {"is", ""}
    return frozenset(name for name in names if not single_valued(name)) | {"to do", "answered by"}


@lru_cache(maxsize=1)
def fact_rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Predicates with their patterns, for what is to be remembered and is not about the user."""
    rows = rules_of("statements")["facts"]["patterns"]
    return tuple((row["predicate"], re.compile(_expanded(row["pattern"]), re.IGNORECASE)) for row in rows)


def _expanded(pattern: str) -> str:
    """A pattern with the words that it names in braces."""
    words = {**rules_of("statements")["words"], "given_name": f"(?:{entity_words()['given_name']})"}
    for name, meaning in words.items():
        pattern = pattern.replace(f"{{{name}}}", meaning)
    return pattern


@lru_cache(maxsize=1)
def belongings() -> frozenset[str]:
    """What a user can have that something is said of: "my car"."""
    return frozenset(rules_of("statements")["attributes"]["belongings"])


class Importance(NamedTuple):
    """How much something matters, 1 to 10, and why."""

    rating: int
    explanation: str


UNKNOWN = Importance(5, "nothing says how much it matters")


def importance_of(text: str) -> Importance:
    """The rating of a text, 1 (trivial) to 10 (vital), with the first rule that fits."""
    for row in rules_of("statements")["importance"]:
        if match := re.search(rf"\b(?:{row['words']})\b", text, re.IGNORECASE):
            return Importance(row["rating"], f"{row['why']}: “{match[0]}”")
    return UNKNOWN
