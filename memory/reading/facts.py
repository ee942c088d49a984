"""What a clause says that no rule of `statements.toml` reads, and what the object of a statement may be."""

from __future__ import annotations

import re
from datetime import UTC, tzinfo
from functools import cache

from memory.reading import rules_of
from memory.reading.entities import entity_words, is_named, normalised
from memory.reading.intervals import validity_of
from memory.reading.records import Category, Statement
from memory.reading.rules import belongings, fact_rules, predicate_named

USER = "user"

_ATTRIBUTE = re.compile(
    r"(?:my|our) (?:new |current |present )?(?P<attribute>[\w-]+(?: [\w-]+){0,2}?)(?: is|['’]s| are)"
    r"(?: now| actually| really)? (?P<object>.+)"
)
_NUMBER_WORD = re.compile(r"(?:number|num|nr|no)\.? ?(?=\d)", re.IGNORECASE)  # "number 6" is 6
_LASTING = re.compile(r"(?:an? (?!bit|lot|mess|pain|nightmare|joke|disaster|wreck|write)|[A-Z]?\d)")
"""What a thing is for longer than a day: "a poodle", and not "broken"."""
_AMOUNT = re.compile(
    r"%|\b(?:hours?|minutes?|mins?|days?|weeks?|degrees?|times?|late|away|charged|km|miles?|off)\b"
)
_WRITTEN = re.compile(r"[A-Z]|.*[\d@]")  # a name or a number: "my boss is Tom", and not "leaving"
_NUMBERED = re.compile(r" (?:number|num|nr|no)$")  # "my bunk number is 4" is of the bunk
_TO_DO = re.compile(r"to (?P<object>[a-z].+)")
POSSESSED = re.compile(r"(?:my|our) (?P<thing>[\w-]+(?: [\w-]+)?)", re.IGNORECASE)


def attribute(text: str, *, asked_for: bool) -> Statement | None:
    """What "my X is Y" says: of the user where X is an attribute, else of the user's X."""
    match = _ATTRIBUTE.fullmatch(text)
    if not match:
        return None
    attributes = rules_of("statements")["attributes"]
    name = match["attribute"].casefold()
    thing, replaces, denied = object_of(match["object"], keep_date=True, said_at=0.0, zone=UTC)
    thing, replaces = (_NUMBER_WORD.sub("", words) for words in (thing, replaces))
    if not thing or name in attributes["none"] or (is_vague(thing) and not asked_for):
        return None
    kinds = (Category.PERSONAL, Category.WORK, Category.PREFERENCE)
    if kind := next((kind for kind in kinds if name in attributes[kind.value]), None):
        subject, predicate = USER, predicate_named(name)
        lasts = kind is Category.PREFERENCE or _WRITTEN.match(thing) is not None
        lasts = lasts and not re.fullmatch(entity_words()["people"], thing)  # "my boss is Dutch"
    else:
        owner, _, last = name.rpartition(" ")
        owner, is_name = owner.removesuffix("'s"), last == "name"
        kind, predicate, denied = Category.PERSONAL, "name" if is_name else "is", denied and not is_name
        name = owner if is_name else thing_named(name)
        subject = f"{USER}'s {name}"
        lasts = name in belongings() or name in attributes["numbered"]
        lasts = lasts and (is_name or bool(_LASTING.match(thing) and not _AMOUNT.search(thing)))
    if not (asked_for or (lasts and fits(thing))):
        return None
    return Statement(
        subject=subject, predicate=predicate, object=thing, category=kind, negated=denied, replaces=replaces
    )


def thing_named(words: str) -> str:
    """A thing as subjects name it: "Bunk nr" is "bunk"."""
    return _NUMBERED.sub("", words.casefold())


def fact(text: str) -> Statement | None:
    """What is asked to be remembered and is not about the user."""
    if to_do := _TO_DO.fullmatch(text):
        return Statement(subject=USER, predicate="to do", object=normal_object(to_do["object"]))
    for predicate, pattern in fact_rules():
        match = pattern.fullmatch(text)
        if not match or len(match["who"].split()) > MOST_WORDS:
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
    return Statement(predicate="note", object=thing) if len(thing.split()) > 1 else None


def with_other(thing: str, old: str, text: str) -> str:
    """A text with one thing in the place of another; "" where that is not in it."""
    found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text, re.IGNORECASE) if old else None
    return f"{text[: found.start()]}{thing}{text[found.end() :]}" if found else ""


_NOT_THIS = re.compile(
    r"^(?P<object>.+?)(?:,| and) (?:and )?not (?!only|that|to |so |really|yet|sure)(?P<replaces>.+)$"
)
_VALUE_NOT = re.compile(
    r"^(?P<object>(?:.+ )?(?:\S*\d\S*|[A-Z]\w+)) not (?P<replaces>(?:\w+ )?(?:\S*\d\S*|[A-Z]\w+))$"
)
_BUT_THAT = re.compile(r"^not (?P<replaces>.+?)(?:,| but|, but|;)+ (?:it'?s |it is )?(?P<object>.+)$")
_DANGLING = re.compile(r"(?:[\s,]+(?:as of|on|in|at|since|until|from|for|by|the|a|of|to|and|with))+$")
_SINCE = re.compile(r"\b(?:since|as of|starting)\b(?: on| from)?\s*", re.IGNORECASE)
FEW_WORDS = 5
MOST_WORDS = 8  # of what something is said of
_ARTICLES = frozenset(
    ("a", "an", "the", "my", "our", "his", "her", "their", "one", "some", "any", "new", "old")
)

_LITTLE = frozenset(("i", "we", "am", "is", "are", "do", "to", "on", "at", "in", "of", "for", "with"))


def undated(text: str, *, said_at: float, zone: tzinfo) -> str:
    """Without since when, until when or for how long."""
    text = _of("so_long").sub("", text)
    when = validity_of(text, said_at=said_at, zone=zone)
    if when.start is None or when.end is None:
        return text
    return _DANGLING.sub("", text[: when.start].rstrip()) + text[when.end :]


def object_of(text: str, *, keep_date: bool, said_at: float, zone: tzinfo) -> tuple[str, str, bool]:
    """The object of a statement, what it replaces, and whether it is denied."""
    but_that = _BUT_THAT.match(text)
    text = _of("so_long").sub("", _of("cut").sub("", text))
    replaces, denied = "", text.startswith("not ")
    if match := but_that or names_wrong(text):
        text, replaces, denied = match["object"], normal_object(match["replaces"]), False
    text = text.removeprefix("not ")
    when = validity_of(text, said_at=said_at, zone=zone)
    if when.start is not None and text[: when.start].strip():
        led = _SINCE.search(text, 0, when.start) or _SINCE.match(text, when.start)
        if led or not keep_date:
            text = undated(text, said_at=said_at, zone=zone)
    return normal_object(text), replaces, denied


def names_wrong(text: str) -> re.Match[str] | None:
    """Where a text says what is not, too: "Y, not X", "nr 6 not 4"."""
    return _NOT_THIS.match(text) or _VALUE_NOT.match(text)


def normal_object(text: str) -> str:
    """An object's words without marks, and without what only rounds a sentence off."""
    text = " ".join(text.replace("`", "").replace("*", "").split()).strip(" .,;:!\"“”'")
    while match := _of("trailing").search(text):
        text = text[: match.start()]
    return text


# -- what an object may be -------------------------------------------------------------------------------


def is_vague(thing: str) -> bool:
    """Whether words name nothing: "it", "the second one"."""
    return _of("vague").match(thing) is not None


def fits(thing: str, of: str = "") -> bool:
    """Whether an object can be what its rule says that it is; what says more than one thing is nothing."""
    if _of("many").search(thing) or len(thing.split()) > (FEW_WORDS if of else 2 * FEW_WORDS):
        return False
    if of in rules_of("statements")["objects"]["never"] and _never(of).match(thing):
        return False
    match of:
        case "place":
            return not is_named(thing, "product") and (thing[0].isupper() or is_named(thing, "place"))
        case "left":
            return not is_named(thing, "place")
        case "tool":  # what else is used is used once
            return is_named(thing, "product")
        case "food":
            return one_of(thing.casefold()) in rules_of("statements")["attributes"]["foods"]
        case "possession":  # a dog, a car: nobody owns a fever
            words = re.split(r" (?:called|named) ", thing.casefold())[0].split()
            return one_of(words[-1]) in rules_of("statements")["attributes"]["possessions"]
    return True


@cache
def _of(name: str) -> re.Pattern[str]:
    return re.compile(rules_of("statements")["objects"][name], re.IGNORECASE | re.DOTALL)


@cache
def _never(of: str) -> re.Pattern[str]:
    return re.compile(rules_of("statements")["objects"]["never"][of], re.IGNORECASE)


def one_of(word: str) -> str:
    """A noun in the singular, as far as that is told by its end."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def stems(text: str) -> list[str]:
    """What a text says, by the stems of its words in order: "smoking" and "I smoke" are both "smok"."""
    words = (word for word in re.findall(r"\w+", text.casefold()) if word not in _ARTICLES | _LITTLE)
    ended = (re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word) for word in words)
    return [re.sub(r"(\w)\1$", r"\1", word) for word in ended]


def words_of_thing(thing: str) -> frozenset[str]:
    """What tells a thing: its words in the singular without articles, and what it is one of: a car."""
    words = {one_of(word) for word in re.findall(r"\w+", thing.casefold())} - _ARTICLES
    kinds = rules_of("statements")["kinds"]
    return frozenset(words | {kind for kind, members in kinds.items() if words & set(members)})
