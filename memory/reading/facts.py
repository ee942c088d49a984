"""What a clause says that no rule of `statements.toml` reads: attributes, and facts of other things."""

from __future__ import annotations

import re
from datetime import UTC

from memory.reading.entities import entity_words, normalised
from memory.reading.objects import fits, is_vague, normal_object, object_of
from memory.reading.records import Category, Statement
from memory.reading.rules import belongings, fact_rules, predicate_named, statement_data

USER = "user"

_ATTRIBUTE = re.compile(
    r"(?:my|our) (?:new |current |present )?(?P<attribute>[\w-]+(?: [\w-]+){0,2}?)(?: is|['’]s| are)"
    r"(?: now| actually| really)? (?P<object>.+)"
)
_NUMBER_WORD = re.compile(r"(?:number|num|nr|no)\.? ?(?=\d)", re.IGNORECASE)  # "number 6" is 6
_LASTING = re.compile(r"(?:an? (?!bit|lot|mess|pain|nightmare|joke|disaster|wreck|write)|\d)")
"""What a thing is for longer than a day: "a poodle", and not "broken"."""
_AMOUNT = re.compile(
    r"%|\b(?:hours?|minutes?|mins?|days?|weeks?|degrees?|times?|late|away|charged|km|miles?|off)\b"
)
_WRITTEN = re.compile(r"[A-Z]|.*[\d@]")  # a name or a number: "my boss is Tom", and not "leaving"
_PASSING = re.compile(
    r"fever|temperature|score|pulse|level|reading|pressure|voltage|balance|progress|count|position|grade|bill|timer|speed"
)
_NUMBERED = re.compile(r" (?:number|num|nr|no)$")  # "my bunk number is 4" is of the bunk
_CALLED = re.compile(r"(?:called|named) (?P<name>\w[\w'’-]*(?: [A-Z][\w'’-]*)?)")
_TO_DO = re.compile(r"to (?P<object>[a-z].+)")
POSSESSED = re.compile(r"(?:my|our) (?P<thing>[\w-]+(?: [\w-]+)?)", re.IGNORECASE)


def attribute(text: str, *, asked_for: bool) -> Statement | None:
    """What "my X is Y" says: of the user where X is an attribute, else of the user's X."""
    match = _ATTRIBUTE.fullmatch(text)
    if not match:
        return None
    attributes = statement_data()["attributes"]
    name = match["attribute"].casefold()
    thing, replaces, denied = object_of(match["object"], keep_date=True, said_at=0.0, zone=UTC)
    thing, replaces = (_NUMBER_WORD.sub("", words) for words in (thing, replaces))
    if not thing or name in attributes["none"] or (is_vague(thing) and not asked_for):
        return None
    for kind in (Category.PERSONAL, Category.WORK, Category.PREFERENCE):
        if name in attributes[kind.value]:
            written = kind is Category.PREFERENCE or name == "shift" or _WRITTEN.match(thing) is not None
            written = written and not re.fullmatch(entity_words()["people"], thing)  # "my boss is Dutch"
            if not (asked_for or (written and fits(thing))):
                return None
            predicate = predicate_named(name)
            return Statement(
                subject=USER, predicate=predicate, object=thing, category=kind,
                negated=denied, replaces=replaces,
            )  # fmt: skip
    if called := _CALLED.fullmatch(thing):
        return attribute(f"my {name} name is {called['name']}", asked_for=asked_for)
    owner, _, last = name.rpartition(" ")
    owner = owner.removesuffix("'s")
    is_name = last == "name"
    name = owner if is_name else thing_named(name)
    lasting = _LASTING.match(thing) and not _AMOUNT.search(thing) and fits(thing)
    if not (
        asked_for or (name in belongings() and (is_name or lasting)) or (lasting and _is_number(name, thing))
    ):
        return None
    return Statement(
        subject=f"{USER}'s {name}", predicate="name" if is_name else "is", object=thing,
        category=Category.PERSONAL, negated=denied and not is_name, replaces=replaces,
    )  # fmt: skip


def _is_number(name: str, thing: str) -> bool:
    """Whether a thing of the user's has that number, and not only today: their locker, not their fever."""
    return " " not in name and _PASSING.search(name) is None and re.match(r"\D{0,7}\d", thing) is not None


def thing_named(words: str) -> str:
    """A thing as subjects name it: "Bunk nr" is "bunk"."""
    return _NUMBERED.sub("", words.casefold())


def fact(text: str) -> Statement | None:
    """What is asked to be remembered and is not about the user."""
    if to_do := _TO_DO.fullmatch(text):
        return Statement(
            subject=USER, predicate="to do", object=normal_object(to_do["object"]), tags=("to do",)
        )
    for predicate, pattern in fact_rules():
        match = pattern.fullmatch(text)
        if not match or len(match["who"].split()) > 8:
            continue
        words = match.groupdict()
        thing, replaces, denied = object_of(words["object"] or "", keep_date=True, said_at=0.0, zone=UTC)
        if not thing or is_vague(words["who"] or ""):
            continue
        possessed = POSSESSED.fullmatch(words["who"] or "")
        subject = f"{USER}'s {possessed['thing'].casefold()}" if possessed else normalised(words["who"] or "")
        subject = USER if subject in ("i", "we") else subject
        negated = denied or bool(words.get("denied"))
        return Statement(
            subject=subject, predicate=predicate, object=thing, negated=negated, replaces=replaces
        )
    thing = normal_object(text)
    return Statement(subject="", predicate="note", object=thing) if len(thing.split()) > 1 else None


def with_other(thing: str, old: str, text: str) -> str:
    """A text with one thing in the place of another; "" where that is not in it."""
    found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text, re.IGNORECASE) if old else None
    return f"{text[: found.start()]}{thing}{text[found.end() :]}" if found else ""
