"""What a clause says that no rule of `statements.toml` reads: attributes, and facts of other things."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC

from memory.extracting.entities import normalised
from memory.extracting.objects import VAGUE, normal_object, object_of
from memory.extracting.predicates import predicate_named, statement_data
from memory.extracting.records import Category
from memory.extracting.rules import belongings, fact_rules

USER = "user"

_ATTRIBUTE = re.compile(
    r"(?:my|our) (?:new |current |present )?(?P<attribute>[\w-]+(?: [\w-]+){0,2}?)(?: is|['’]s| are| was)"
    r"(?: now| actually| really)? (?P<object>.+)"
)
_NUMBERED = re.compile(r" (?:number|num|nr|no)$")  # "my bunk number is 4" is of the bunk
_CALLED = re.compile(r"(?:called|named) (?P<name>\w[\w'’-]*(?: [A-Z][\w'’-]*)?)")
_TO_DO = re.compile(r"to (?P<object>[a-z].+)")
POSSESSED = re.compile(r"(?:my|our) (?P<thing>[\w-]+(?: [\w-]+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Saying:
    """What a clause says, before its time and weight are known."""

    subject: str
    predicate: str
    object: str
    category: Category
    tags: tuple[str, ...] = ()
    preferences: tuple[tuple[str, str], ...] = ()
    negated: bool = False
    ends: bool = False
    replaces: str = ""
    whole: str = ""  # what it says by itself, where it leans on what was said before
    only_of_known: bool = False  # counts only where something is remembered of the same


def attribute(text: str, *, asked_for: bool) -> Saying | None:
    """What "my X is Y" says: of the user where X is an attribute, else of the user's X."""
    match = _ATTRIBUTE.fullmatch(text)
    if not match:
        return None
    attributes = statement_data()["attributes"]
    name = match["attribute"].casefold()
    thing, replaces, denied = object_of(match["object"], keep_date=True, said_at=0.0, zone=UTC)
    if not thing or name in attributes["none"] or (VAGUE.match(thing) and not asked_for):
        return None
    for kind in (Category.PERSONAL, Category.WORK, Category.PREFERENCE):
        if name in attributes[kind.value]:
            preferences = ((predicate_named(name), thing),) if kind is Category.PREFERENCE else ()
            predicate = predicate_named(name)
            return Saying(USER, predicate, thing, kind, (), preferences, denied, replaces=replaces)
    if called := _CALLED.fullmatch(thing):
        return attribute(f"my {name} name is {called['name']}", asked_for=asked_for)
    owner, _, last = name.rpartition(" ")
    owner = owner.removesuffix("'s")
    if last == "name" and (owner in belongings() or asked_for):
        return Saying(f"{USER}'s {owner}", "name", thing, Category.PERSONAL, replaces=replaces)
    name = thing_named(name)
    if name in belongings() or asked_for:
        return Saying(f"{USER}'s {name}", "is", thing, Category.PERSONAL, (), (), denied, replaces=replaces)
    return None


def thing_named(words: str) -> str:
    """A thing as subjects name it: "Bunk nr" is "bunk"."""
    return _NUMBERED.sub("", words.casefold())


def fact(text: str) -> Saying | None:
    """What is asked to be remembered and is not about the user."""
    if to_do := _TO_DO.fullmatch(text):
        return Saying(USER, "to do", normal_object(to_do["object"]), Category.GENERAL, ("to do",))
    for predicate, pattern in fact_rules():
        match = pattern.fullmatch(text)
        if not match or len(match["who"].split()) > 8:
            continue
        words = match.groupdict()
        thing, replaces, denied = object_of(words["object"] or "", keep_date=True, said_at=0.0, zone=UTC)
        if not thing or VAGUE.match(words["who"] or ""):
            continue
        possessed = POSSESSED.fullmatch(words["who"] or "")
        subject = f"{USER}'s {possessed['thing'].casefold()}" if possessed else normalised(words["who"] or "")
        subject = USER if subject in ("i", "we") else subject
        negated = denied or bool(words.get("denied"))
        return Saying(subject, predicate, thing, Category.GENERAL, (), (), negated, replaces=replaces)
    thing = normal_object(text)
    return Saying("", "note", thing, Category.GENERAL) if len(thing.split()) > 1 else None
