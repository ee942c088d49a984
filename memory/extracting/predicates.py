"""Predicates: their normalised names, and which of them have one value at a time."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

_OF_ONE = ("favourite ", "preferred ")
_SPELLINGS = {"favorite": "favourite", "color": "colour", "timezone": "time zone", "e-mail": "email"}
_SYNONYMS = {
    "email address": "email",
    "phone number": "phone",
    "boss": "manager",
    "supervisor": "manager",
    "company": "employer",
    "profession": "job",
    "occupation": "job",
    "os": "operating system",
    "ide": "editor",
    "surname": "last name",
    "user name": "username",
    "blood group": "blood type",
    "mother tongue": "native language",
}


def single_valued(predicate: str) -> bool:
    """True where another object of the same subject replaces the one before (`home`), False for `likes`."""
    return predicate.startswith(_OF_ONE) or predicate in _single()


def predicates_asked_for(question: str) -> tuple[str, ...]:
    """What "where do I live?" asks for: `home`; nothing where no verb of `statements.toml` is in it."""
    words = question.casefold()
    rows = statement_data()["questions"]
    verb = next((verb for verb in rows if re.search(rf"\bi {verb}\b", words)), None)
    return tuple(rows[verb]) if verb else ()


def predicate_named(words: str) -> str:
    """The predicate for a user's words: "Favorite  color" is "favourite colour", "e-mail" is "email"."""
    name = " ".join(_SPELLINGS.get(word, word) for word in words.casefold().split())
    return _SYNONYMS.get(name, name)


@lru_cache(maxsize=1)
def statement_data() -> Mapping[str, Any]:
    """What `statements.toml` holds, read once."""
    return tomllib.loads((files("memory.extracting") / "statements.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _single() -> frozenset[str]:
    data = statement_data()
    attributes = data["attributes"]
    names = [name for kind in ("personal", "work", "preference") for name in attributes[kind]]
    return frozenset({*data["single"]["predicates"], *map(predicate_named, names)})
