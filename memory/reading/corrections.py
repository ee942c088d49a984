"""What corrects something that was said before: "it is Y, not X", "sorry, my bunk is number 6", "no, 6"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC
from functools import cache

from memory.reading import rules_of
from memory.reading.entities import normalised
from memory.reading.facts import USER, attribute, fact, names_wrong, normal_object, object_of, with_other
from memory.reading.records import Category, Statement
from memory.reading.rules import belongings, single_valued

FEW_MEANT = 2  # words of what is meant in the place of an object
FEW_WORDS = 6  # of an object: more of them are a story

_NAMES = re.compile(r"[A-Z][\w'-]+,? not [A-Z][\w'-]+")  # "Tim, not Tom"
_NAME = re.compile(r"[A-Z][a-z]{2,}(?:[’'-]\w+)*")


def correction(text: str, before: Statement | None, *, corrects: bool) -> Statement | None:
    """What a correction says: of what was said `before`, or else of whatever is remembered of the same.

    `corrects` where words before it say so ("sorry, …"); without, "it is Y" and "Y, not X" still do.
    """
    says = _of("says").fullmatch(text)
    given = says["object"] if says else text
    if before and (says or corrects) and (thing := _value_like(before, given)):
        return _instead(before, thing, old=before.object)
    if says:
        few = not says["meant"] or len(given.split()) <= FEW_MEANT
        return _of_before(given, before) if few and not _of("asks").search(text) else None
    if said := _of_what_is_known(text):
        return said
    wrong = _NAMES.fullmatch(text) or (corrects and (names_wrong(text) or text.startswith("not ")))
    return _of_before(text, before) if wrong else None


def _of_before(text: str, before: Statement | None) -> Statement | None:
    """What "Y, not X" says of the statement before; without that, only what no longer holds."""
    thing, replaces, denied = object_of(text, keep_date=True, said_at=0.0, zone=UTC)
    if (
        not thing
        or denied
        or "," in thing
        or len(thing.split()) > FEW_WORDS
        or _of("no_correction").match(thing)
    ):
        return None
    if before and (not replaces or _words(replaces) <= _words(before.text)):
        return _instead(before, thing, old=replaces or before.object)
    return Statement(object=thing, replaces=replaces, only_of_known=True) if replaces else None


def _instead(before: Statement, thing: str, *, old: str) -> Statement:
    """The statement before, with one thing in the place of another."""
    whole = with_other(thing, old, before.whole or before.text)
    return Statement(
        subject=before.subject, predicate=before.predicate, object=thing, category=before.category,
        valid_at=before.valid_at, invalid_at=before.invalid_at, replaces=old, whole=whole,
    )  # fmt: skip


def instead_of(text: str, before: Statement) -> Statement | None:
    """What "that's my sister, not me" says: the statement before, of somebody else."""
    match = _of("of_another").fullmatch(text)
    thing = match["thing"].casefold() if match else ""
    if not match or thing not in belongings() or before.subject == f"{USER}'s {thing}":
        return None
    name = normalised(match["name"] or "")
    said = f"my {thing} {match['name']}" if name else f"my {thing}"
    return replace(
        before, subject=name or f"{USER}'s {thing}", role=f"{USER}'s {thing}" if name else "",
        category=Category.PERSONAL, corrects=True, instead_of=before.subject,
        whole=f"{said} ({before.predicate}): {before.object}",
    )  # fmt: skip


def _value_like(before: Statement, text: str) -> str:
    """The object that a bare value puts in the place of the one before: "no, 6" after "my bunk is nr 4".

    Numbers, single letters and days stand for as many, where all other words were said too; a name for a
    name. Else "".
    """
    words = normal_object(text).split() or [""]
    new, old = (_of("value").findall(given) for given in (" ".join(words), before.object))
    if new and len(new) == len(old):
        others = {word.casefold() for word in words if not _of("value").search(word)}
        values = iter(new)
        return (
            _of("value").sub(lambda _: next(values), before.object) if others <= _words(before.text) else ""
        )
    digits = [value for value in old if value.isdigit() and len(value) == len(words[0])]
    if len(digits) == 1 and words == new and words[0].isdigit():  # "sorry 221" after "212, 2nd floor"
        return with_other(words[0], digits[0], before.object)
    names = len(words) == 1 and single_valued(before.predicate)
    return words[0] if names and _NAME.fullmatch(before.object) and _NAME.fullmatch(words[0]) else ""


def _words(text: str) -> set[str]:
    return {word.removesuffix("'s") for word in text.casefold().split()}


def _of_what_is_known(text: str) -> Statement | None:
    """A correction that names what it is of: "my bunk is number 6", "the key is in the drawer"."""
    said = attribute(text, asked_for=True) or attribute(f"my {text}", asked_for=False) or fact(text)
    if said is None or not said.subject or said.predicate == "to do":
        return None
    if len(said.object.split()) > FEW_WORDS or _of("asks").search(text):
        return None
    return replace(said, only_of_known=True)


@cache
def _of(name: str) -> re.Pattern[str]:
    return re.compile(rules_of("statements")["corrections"][name], re.IGNORECASE)
