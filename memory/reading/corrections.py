"""What corrects something that was said before: "it is Y, not X", "no, 6", "that's my sister, not me"."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from memory.reading import rules_of
from memory.reading.entities import normalised
from memory.reading.objects import names_wrong, normal_object, object_of, with_other
from memory.reading.records import USER, Category, Statement
from memory.reading.rules import belongings, single_valued

FEW_WORDS = 6  # of an object: more of them are a story


def correction(text: str, before: Statement | None, *, corrects: bool) -> Statement | None:
    """What a correction says of what was said `before`: "it is Y", "Y, not X", a bare value.

    `corrects` where words before it say so ("sorry, …"); without, "it is Y" and "Y, not X" still do.
    """
    says = _of("says").fullmatch(text)
    given = says["object"] if says else text
    if before and (says or corrects) and (thing := _value_like(before, given)):
        return _instead(before, thing, old=before.object)
    if says:
        return None if only_asks(text) else _of_before(given, before)
    wrong = _of("names").fullmatch(text) or (corrects and (names_wrong(text) or text.startswith("not ")))
    return _of_before(text, before) if wrong else None


def only_asks(text: str) -> bool:
    """Whether what begins like a correction asks, without its mark."""
    return _of("asks").search(text) is not None


def in_place_of(before: Statement | None, said: Statement) -> Statement:
    """A correction with the object that it puts right, where the statement before is of the same matter."""
    if before is None or said.replaces or said.negated or said.ends or before.object == said.object:
        return said
    same = (before.subject, before.predicate) == (said.subject, said.predicate)
    return replace(said, replaces=before.object) if same else said


def of_another(text: str, before: Statement) -> Statement | None:
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
        text=f"{said} ({before.predicate}): {before.object}",
    )  # fmt: skip


def _of_before(text: str, before: Statement | None) -> Statement | None:
    """What "Y, not X" says of the statement before; without that, only what no longer holds."""
    thing, replaces, denied = object_of(text, keep_date=True)
    unread = not thing or denied or "," in thing or len(thing.split()) > FEW_WORDS
    if unread or _of("no_correction").match(thing):
        return None
    if before and (not replaces or _words(replaces) <= _words(before.text)):
        return _instead(before, thing, old=replaces or before.object)
    return Statement(object=thing, replaces=replaces, only_of_known=True) if replaces else None


def _instead(before: Statement, thing: str, *, old: str) -> Statement:
    """The statement before, with one thing in the place of another."""
    return Statement(
        subject=before.subject, predicate=before.predicate, object=thing, category=before.category,
        valid_at=before.valid_at, invalid_at=before.invalid_at, replaces=old,
        text=with_other(thing, old, before.text),
    )  # fmt: skip


def _value_like(before: Statement, text: str) -> str:
    """The object that a bare value puts in the place of the one before: "no, 6" after "my bunk is nr 4".

    Numbers, single letters and days stand for as many, where all other words were said too, one for the only
    one as long ("221" after "212, 2nd floor"), a name for a name. Else "".
    """
    value, text = _of("value"), normal_object(text)
    new, old = value.findall(text), value.findall(before.object)
    if len(new) != len(old):
        old = [one for one in old if [text] == new and one.isdigit() and len(one) == len(text)]
    if new and len(new) == len(old) and _words(value.sub(" ", text)) <= _words(before.text):
        values = iter(new)
        return value.sub(lambda match: next(values) if match[0] in old else match[0], before.object)
    one_name = _of("name").fullmatch(before.object) and _of("name").fullmatch(text)
    return text if one_name and single_valued(before.predicate) else ""


def _words(text: str) -> set[str]:
    return {word.removesuffix("'s") for word in text.casefold().split()}


@cache
def _of(name: str) -> re.Pattern[str]:
    return re.compile(rules_of("statements")["corrections"][name], re.IGNORECASE)
