"""The object of a statement: cut out of what a clause says, and fit for what its rule says that it is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import tzinfo
from functools import cache, lru_cache

from memory.reading.entities import is_named
from memory.reading.intervals import validity_of
from memory.reading.rules import statement_data

_ASIDE = re.compile(r"\s*\((not [^()]+)\)")
_NOT_THIS = re.compile(
    r"^(?P<object>.+?)(?:,| and) (?:and )?not (?!only|that|to |so |really|yet|sure)(?P<replaces>.+)$"
)
_NUMBER_NOT = re.compile(r"^(?P<object>(?:.+ )?\S*\d\S*) not (?P<replaces>(?:\w+ )?\S*\d\S*)$")
_NAME_NOT = re.compile(r"^(?P<object>[A-Z]\w+) not (?P<replaces>[A-Z]\w+)$")
_BUT_THAT = re.compile(r"^not (?P<replaces>.+?)(?:,| but|, but|;)+ (?:it'?s |it is )?(?P<object>.+)$")
_DANGLING = re.compile(r"[\s,]+(?:as of|on|in|at|since|until|from|for|by|the|a|of|to|and|with)$")
_SINCE = re.compile(r"\b(?:since|as of|starting)\b(?: on| from)?\s*", re.IGNORECASE)
FEW_WORDS = 5
_ARTICLES = frozenset(
    ("a", "an", "the", "my", "our", "his", "her", "their", "one", "some", "any", "new", "old")
)


def undated(text: str, *, said_at: float, zone: tzinfo) -> str:
    """Without since when, until when or for how long."""
    text = _of("so_long").sub("", text)
    when = validity_of(text, said_at=said_at, zone=zone)
    return text if when.start is None or when.end is None else _without(text, when.start, when.end)


def _without(text: str, start: int, end: int) -> str:
    """Without a date, and without the words that led to it."""
    head = text[:start].rstrip()
    while (cut := _DANGLING.sub("", head)) != head:
        head = cut
    return head + text[end:]


def object_of(text: str, *, keep_date: bool, said_at: float, zone: tzinfo) -> tuple[str, str, bool]:
    """The object of a statement, what it replaces, and whether it is denied."""
    text = _of("so_long").sub("", _of("cut").sub("", _ASIDE.sub(r", \1", text)))
    replaces = ""
    denied = False
    if match := _BUT_THAT.match(text) or names_wrong(text):
        text, replaces = match["object"], normal_object(match["replaces"])
    elif text.startswith("not "):
        text, denied = text[4:], True
    when = validity_of(text, said_at=said_at, zone=zone)
    if when.start is not None and when.end is not None and text[: when.start].strip():
        led = _SINCE.search(text, 0, when.start) or _SINCE.match(text, when.start)
        if led or not keep_date:
            text = _without(text, when.start, when.end)
    return normal_object(text), replaces, denied


def names_wrong(text: str) -> re.Match[str] | None:
    """Where a text says what is not, too: "Y, not X", "nr 6 not 4"."""
    return _NOT_THIS.match(text) or _NUMBER_NOT.match(text) or _NAME_NOT.match(text)


def normal_object(text: str) -> str:
    """An object's words without marks, and without what only rounds a sentence off."""
    text = " ".join(text.replace("`", "").replace("*", "").split()).strip(" .,;:!\"“”'")
    while match := _of("trailing").search(text):
        text = text[: match.start()]
    return text


# -- what an object may be -------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def preference_keys() -> Mapping[str, str]:
    """What well-known things are preferred as, by thing: "zsh" is a shell."""
    return {value: key for key, values in statement_data()["preference_keys"].items() for value in values}


def is_vague(thing: str) -> bool:
    """Whether words name nothing: "it", "the second one"."""
    return _of("vague").match(thing) is not None


def fits(thing: str, of: str = "") -> bool:
    """Whether an object can be what its rule says that it is; what says more than one thing is nothing."""
    if _of("many").search(thing) or len(thing.split()) > (FEW_WORDS if of else 2 * FEW_WORDS):
        return False
    known = thing.casefold() in preference_keys()
    if (
        of in statement_data()["objects"]["never"]
        and _never(of).match(thing)
        and not (of == "liked" and known)
    ):
        return False
    match of:
        case "place":
            return not is_named(thing, "product") and (thing[0].isupper() or is_named(thing, "place"))
        case "left":
            return not is_named(thing, "place")
        case "tool":  # what else is used is used once
            return known or is_named(thing, "product")
        case "food":
            return one_of(thing.casefold()) in statement_data()["attributes"]["foods"]
        case "possession":  # a dog, a car: nobody owns a fever
            words = re.split(r" (?:called|named) ", thing.casefold())[0].split()
            return one_of(words[-1]) in statement_data()["attributes"]["possessions"]
    return True


@cache
def _of(name: str) -> re.Pattern[str]:
    return re.compile(statement_data()["objects"][name], re.IGNORECASE | re.DOTALL)


@cache
def _never(of: str) -> re.Pattern[str]:
    return re.compile(statement_data()["objects"]["never"][of], re.IGNORECASE)


def one_of(word: str) -> str:
    """A noun in the singular, as far as that is told by its end."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def words_of_thing(thing: str) -> frozenset[str]:
    """What tells a thing: its words in the singular without articles, and what it is one of: a car."""
    words = {one_of(word) for word in re.findall(r"\w+", thing.casefold())} - _ARTICLES
    kinds = statement_data()["kinds"]
    return frozenset(words | {kind for kind, members in kinds.items() if words & set(members)})
