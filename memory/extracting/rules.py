"""The rules of `statements.toml`, compiled: what a clause says, by how it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from memory.extracting.entities import entity_words
from memory.extracting.predicates import single_valued, statement_data
from memory.extracting.records import Category

MOST_WORDS = 10  # of an object: more of them are a story


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule for statements about the user, and what follows for what it finds."""

    predicate: str
    patterns: tuple[re.Pattern[str], ...]
    category: Category
    tags: tuple[str, ...]
    key: str
    ends: bool
    negated: bool
    keep_date: bool
    unless: re.Pattern[str] | None
    most_words: int


@lru_cache(maxsize=1)
def statement_rules() -> tuple[Rule, ...]:
    """The rules for what users state about themselves; the first that fits counts."""
    return tuple(
        Rule(
            predicate=row["predicate"],
            patterns=tuple(re.compile(_expanded(pattern)) for pattern in row["patterns"]),
            category=Category(row["category"]),
            tags=tuple(row.get("tags", ())),
            key=row.get("key", ""),
            ends=row.get("ends", False),
            negated=row.get("negated", False),
            keep_date=row.get("keep_date", False),
            unless=re.compile(row["unless"]) if "unless" in row else None,
            most_words=row.get("most_words", MOST_WORDS),
        )
        for row in statement_data()["statement"]
    )


def has_several(predicate: str) -> bool:
    """True where a subject is known to have several objects (`likes`); False where nothing says so (`is`)."""
    return predicate in _several()


@lru_cache(maxsize=1)
def _several() -> frozenset[str]:
    names = {rule.predicate for rule in statement_rules()} - {"is"}
    return frozenset(name for name in names if not single_valued(name)) | {"to do", "answered by"}


@lru_cache(maxsize=1)
def fact_rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Predicates with their patterns, for what is to be remembered and is not about the user."""
    rows = statement_data()["facts"]["patterns"]
    return tuple((row["predicate"], re.compile(_expanded(row["pattern"]), re.IGNORECASE)) for row in rows)


def _expanded(pattern: str) -> str:
    """A pattern with the words that it names in braces."""
    words = {**statement_data()["words"], "given_name": f"(?:{entity_words()['given_name']})"}
    for name, meaning in words.items():
        pattern = pattern.replace(f"{{{name}}}", meaning)
    return pattern


@lru_cache(maxsize=1)
def tag_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Tags, each with the words that speak of it."""
    return tuple((name, re.compile(words, re.IGNORECASE)) for name, words in statement_data()["tags"].items())


@lru_cache(maxsize=1)
def preference_keys() -> Mapping[str, str]:
    """What well-known things are preferred as, by thing: "zsh" is a shell."""
    return {value: key for key, values in statement_data()["preference_keys"].items() for value in values}


@lru_cache(maxsize=1)
def belongings() -> frozenset[str]:
    """What a user can have that something is said of: "my car"."""
    return frozenset(statement_data()["attributes"]["belongings"])
