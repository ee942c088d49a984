"""What a user states about themselves, or asks to remember, by the rules of `statements.toml`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo

from memory.reading.clauses import Clause, Stance, clauses_of, speech, spelt_out, stance_of
from memory.reading.corrections import correction, in_place_of, of_another, only_asks
from memory.reading.entities import is_given_name, normalised, with_names
from memory.reading.guard import reads_as_instruction, secrets_in
from memory.reading.intervals import UNKNOWN, validity_of
from memory.reading.objects import fits, is_vague, names_wrong, normal_object, object_of, undated, with_other
from memory.reading.records import USER, Category, Statement, Validity
from memory.reading.rules import (
    Rule,
    belongings,
    fact_rules,
    has_several,
    importance_of,
    predicate_named,
    statement_rules,
)

LONGEST = 400  # characters of a clause; nobody states one thing at greater length
MOST_WORDS = 8  # of what something is said of

_MEANT = re.compile(r"(?:I mea?nt|make (?:it|that)) ", re.IGNORECASE)
_OWNED = re.compile(
    r"(?i:my|our) (?:new |current )?(?P<thing>[\w-]+(?: [a-z][\w-]*)?)(?: (?P<name>[A-Z][\w'-]+))?"
)
_AND = re.compile(r",? and |, (?=.* and )")

Words = Mapping[str, str | None]
Of = tuple[str, str]  # a subject, and what one with a name is to the user


def statements_in(
    message: str,
    *,
    said_at: float,
    before: Statement | None = None,
    zone: tzinfo = UTC,
    people: Collection[str] = (),
    asked_for: bool = False,
) -> tuple[Statement, ...]:
    """The statements of a user's message in order; none of questions, hypotheticals and small talk.

    `said_at` is the message's time (epoch seconds). `before` is the last statement that the user made: what
    "actually, it is Y" corrects. `people` are known by name. What holds a secret is left out; what reads
    like an instruction is kept only where the user asked to remember it, as not trusted. What is put right in
    the same message was not meant. All of it is `asked_for`, or what says so.
    """
    found: list[Statement] = []
    for clause in clauses_of(with_names(message, people), asked_for=asked_for):
        if len(clause.text) > LONGEST:
            continue
        for said in _said(clause, found[-1] if found else before, frozenset(people)):
            if said.only_of_known and clause.asks and not clause.asked_for:
                continue
            statement = placed(message, clause, said, said_at=said_at, zone=zone)
            if statement is not None:
                found = [item for item in found if not _put_right(item, statement)]
                found.append(statement)
    return tuple(found)


def _put_right(old: Statement, new: Statement) -> bool:
    """Whether a later statement of the same message says that this one was wrong."""
    if new.instead_of:
        return (old.subject, old.predicate, old.object) == (new.instead_of, new.predicate, new.object)
    about = (old.subject, old.predicate) == (new.subject, new.predicate)
    return new.corrects and bool(new.replaces) and about and old.object == new.replaces


# -- its words and its times -----------------------------------------------------------------------------


def placed(
    message: str, clause: Clause, said: Statement, *, said_at: float, zone: tzinfo
) -> Statement | None:
    """A statement with its words and its times; None where it holds a secret, or is planned for no day."""
    words = message[clause.start : clause.end]
    validity = _holds(said, validity_of(spelt_out(clause.text), said_at=said_at, zone=zone), said_at=said_at)
    if said.replaces and said.valid_at > said_at and validity.start is None:  # of a plan: it keeps its day
        validity = Validity(said.valid_at, said.invalid_at)
    cancels = said.planned and said.negated
    begins = validity.invalid_at if said.ends else validity.valid_at
    if said.planned and not cancels and (begins is None or begins <= said_at):
        if not clause.asked_for:
            return None
        said = Statement(predicate="note", object=normal_object(clause.text))
    if secrets_in(words) or "•" in words:
        return None
    rating, why = importance_of(words)
    if clause.asked_for and rating < 7:
        rating, why = 7, "the user asked to remember it"
    completed = clause.text if len(clause.text) > len(words) else words  # with the subject that was left out
    return replace(
        said,
        text=said.text or completed,
        start=clause.start,
        end=clause.end,
        valid_at=validity.valid_at,
        invalid_at=None if said.planned and not said.ends else validity.invalid_at,
        importance=rating,
        importance_why=why,
        corrects=said.corrects or clause.corrects or bool(said.replaces),
        asked_for=clause.asked_for,
        trusted=not reads_as_instruction(words),
        said_at=said_at,
    )


def _holds(said: Statement, validity: Validity, *, said_at: float) -> Validity:
    """When a statement is true, of the time that its words name."""
    if said.ends:
        if said.planned:  # it says of a day to come alone that it is over
            return replace(validity, invalid_at=validity.valid_at)
        ended = validity.invalid_at is not None
        return validity if ended else replace(validity, valid_at=UNKNOWN, invalid_at=validity.valid_at)
    if said.predicate == "birthday":
        return Validity(said_at)
    if (said.category is Category.GENERAL or said.predicate == "is") and validity.start is not None:
        ahead = validity.valid_at > said_at  # that the meeting is on Friday is true until then
        return Validity(said_at, validity.invalid_at) if ahead else replace(validity, invalid_at=None)
    return validity


# -- what a clause says ----------------------------------------------------------------------------------


def _said(clause: Clause, before: Statement | None, people: Collection[str]) -> Sequence[Statement]:
    """What a clause says; more than one thing where it joins them with "and"."""
    text, asked = spelt_out(clause.text), clause.asked_for
    corrects = clause.corrects or bool(names_wrong(text) or _MEANT.match(text))
    small_talk = not corrects and speech()["small_talk"].match(text)
    if not asked and (small_talk or reads_as_instruction(text)):
        return ()
    if before and (other := of_another(text, before)):
        return (other,)
    if found := _by_rules(statement_rules(), text, people, asked_for=asked):
        return [in_place_of(before, item) for item in found] if corrects else found
    if corrects and (said := correction(text, before, corrects=clause.corrects)):
        return (said,)
    if asked or (corrects and not only_asks(text)):
        found = _by_rules(fact_rules(), text, people, asked_for=asked)
    note = normal_object(clause.text)
    if found or not asked or " " not in note:
        return [replace(item, only_of_known=True) for item in found]
    return (Statement(predicate="note", object=note),)


def _by_rules(
    rules: Sequence[Rule], text: str, people: Collection[str], *, asked_for: bool
) -> Sequence[Statement]:
    """What the first rule that fits reads."""
    for stance in (stance_of(text), stance_of(undated(text))):
        for rule in rules:
            for pattern in rule.patterns if stance.over or not rule.over else ():
                words = match.groupdict() if (match := pattern.fullmatch(stance.text)) else None
                of = _subject(words, people, anything=rules is fact_rules()) if words else None
                if words and of and (found := _objects(rule, words, stance, of, text, asked_for=asked_for)):
                    return found
    return ()


def _subject(words: Words, people: Collection[str], *, anything: bool) -> Of | None:
    """Of whom or what it is, normalised, and what one with a name is to the user; None for nobody known."""
    if relative := words.get("relative"):
        return f"{USER}'s {relative.casefold()}", ""
    who = words.get("who") or "I"
    if who.casefold() in ("i", "we"):
        return USER, ""
    owned = _OWNED.fullmatch(who)
    if owned and (anything or owned["thing"].casefold() in belongings()):
        thing = f"{USER}'s {owned['thing'].casefold()}"
        return (normalised(owned["name"]), thing) if owned["name"] else (thing, "")
    name = normalised(who)
    if anything:
        return None if is_vague(who) or len(who.split()) > MOST_WORDS else (name, "")
    return (name, "") if name in people or is_given_name(who.split()[0]) else None


def _objects(
    rule: Rule, words: Words, stance: Stance, of: Of, text: str, *, asked_for: bool
) -> Sequence[Statement]:
    """What a rule reads: each of several objects by itself; nothing where one is unfit."""
    given, replaces, negated = object_of(words["object"] or "", keep_date=rule.attribute)
    predicate = predicate_named(rule.predicate.replace("{thing}", words.get("thing") or ""))
    if predicate == "prefers" and words.get("for"):
        predicate = f"preferred {predicate_named(words['for'] or '')}"
    several = not predicate or (has_several(predicate) and not rule.attribute)
    things = _AND.split(given) if several else [given]
    sure = (asked_for and rule.attribute) or all(fits(thing, rule.of) for thing in things)
    may_be_place = rule.of == "place" and " " not in given and fits(given, "home")
    if not (given or rule.of == "left") or any(map(is_vague, things)) or not (sure or may_be_place):
        return ()
    (subject, role), denied = of, (negated or stance.negated) != rule.negated
    own = subject == USER or rule.category is not Category.PREFERENCE  # what others like is none
    said = Statement(
        subject=subject,
        predicate=predicate,
        role=role,
        category=rule.category if own else Category.PERSONAL,
        negated=denied,
        ends=rule.ends or (stance.ends and not denied),
        planned=stance.planned,
        only_of_known=not predicate or not sure,
        replaces=replaces or normal_object(words.get("replaces") or ""),
    )
    found = [
        replace(said, object=thing, text=with_other(thing, given, text) if thing != given else "")
        for thing in things
    ]
    job = object_of(words.get("job") or "", keep_date=False)[0]
    if job and fits(job, "short"):
        alone = f"I work as {job}" if subject == USER else f"{words['who']} works as {job}"
        found.append(replace(said, predicate="job", object=job, text=alone))
    return found
