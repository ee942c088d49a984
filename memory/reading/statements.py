"""What a user states about themselves, or asks to remember, by the rules of `statements.toml`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import lru_cache

from memory.reading.clauses import Clause, clauses_of, speech
from memory.reading.corrections import correction, instead_of
from memory.reading.entities import entities_in, entity_words, is_given_name, is_named, normalised
from memory.reading.facts import (
    POSSESSED,
    USER,
    attribute,
    fact,
    fits,
    is_vague,
    names_wrong,
    normal_object,
    object_of,
    undated,
    with_other,
)
from memory.reading.guard import reads_as_instruction, secrets_in
from memory.reading.intervals import UNKNOWN, validity_of
from memory.reading.records import Category, EntityKind, Statement, Validity
from memory.reading.rules import (
    Rule,
    belongings,
    has_several,
    importance_of,
    predicate_named,
    statement_rules,
)
from memory.reading.stance import Stance, spelt_out, stance_of, with_names

LONGEST = 400  # characters of a clause; nobody states one thing at greater length

_MEANT = re.compile(r"(?:I mea?nt|make (?:it|that)) ", re.IGNORECASE)
_WHO = re.compile(r"(?:I|[Ww]e|(?:[Mm]y|[Oo]ur) [\w-]+(?: [A-Z][\w'-]+)?|[A-Z][\w'-]+)(?= )")
_CALLED = re.compile(r"(?<=\w) ([A-Z][\w'-]+)$")
_PRONOUN = re.compile(r"(?:he|she|they)(?= )", re.IGNORECASE)
_AT = re.compile(r"(?:now )?at ")
_AND = re.compile(r",? and |, (?=.* and )")

Words = Mapping[str, str | None]


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
    "actually, it is Y" corrects, and of whom "she turned 7" is. What holds a secret is left out; what reads
    like an instruction is kept only where the user asked to remember it, as not trusted. What is put right in
    the same message was not meant. All of it is `asked_for`, or what says so.
    """
    found: list[Statement] = []
    reader = _Reader(said_at, zone, frozenset(people), last=before)
    for clause in clauses_of(with_names(message, people), asked_for=asked_for):
        if len(clause.text) > LONGEST:
            reader.who = ""
            continue
        last = found[-1] if found else before
        for said in reader.read(clause, last):
            if said.only_of_known and clause.asks:
                continue
            statement = placed(message, clause, said, said_at=said_at, zone=zone)
            if statement is None:
                continue
            found = [item for item in found if not _put_right(item, statement)]
            found.append(statement)
    return tuple(found)


def relatives_in(text: str) -> Iterator[tuple[str, str]]:
    """Those whom a text names, and what they are to the user: "karl" is "user's brother"."""
    for match in _relatives().finditer(text):
        yield normalised(match["name"]), f"{USER}'s {match['thing'].casefold()}"


@lru_cache(maxsize=1)
def _relatives() -> re.Pattern[str]:
    words = entity_words()
    return re.compile(
        rf"\b(?i:(?:my|our) (?P<thing>{words['relative']}|child|kid|baby))\b"
        rf",? (?!{words['people']}\b)(?P<name>[A-Z][a-z]+)\b"
    )


def _put_right(old: Statement, new: Statement) -> bool:
    """Whether a later statement of the same message says that this one was wrong."""
    if new.instead_of:
        return (old.subject, old.predicate, old.object) == (new.instead_of, new.predicate, new.object)
    about = (old.subject, old.predicate) == (new.subject, new.predicate)
    return new.corrects and bool(new.replaces) and about and old.object == new.replaces


def placed(
    message: str, clause: Clause, said: Statement, *, said_at: float, zone: tzinfo
) -> Statement | None:
    """A statement with its words and its times; None where it holds a secret, or is planned for no day."""
    text = message[clause.start : clause.end]
    validity = _holds(said, validity_of(spelt_out(clause.text), said_at=said_at, zone=zone), said_at=said_at)
    if said.replaces and said.valid_at > said_at and validity.start is None:  # of a plan: it keeps its day
        validity = Validity(said.valid_at, said.invalid_at)
    cancels = said.planned and said.negated
    begins = validity.invalid_at if said.ends else validity.valid_at
    if said.planned and not cancels and (begins is None or begins <= said_at):
        if not clause.asked_for:
            return None
        said = Statement(predicate="note", object=normal_object(clause.text))
    if secrets_in(text) or "•" in text:
        return None
    rating, why = importance_of(text)
    if clause.asked_for and rating < 7:
        rating, why = 7, "the user asked to remember it"
    return replace(
        said,
        text=text,
        start=clause.start,
        end=clause.end,
        valid_at=validity.valid_at,
        invalid_at=None if said.planned and not said.ends else validity.invalid_at,
        importance=rating,
        importance_why=why,
        corrects=said.corrects or clause.corrects or bool(said.replaces),
        asked_for=clause.asked_for,
        trusted=not reads_as_instruction(text),
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


# -- what a clause says --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Reads the clauses of a message one after the other: who is spoken of goes on from one to the next."""

    said_at: float
    zone: tzinfo
    people: frozenset[str]  # who are known, normalised
    last: Statement | None  # what was stated right before
    who: str = ""  # the words of the last clause's subject

    def read(self, clause: Clause, before: Statement | None) -> Sequence[Statement]:
        """What a clause says; more than one thing where it joins them with "and"."""
        text = self._by_itself(clause)
        found = self._said(text, clause, before) if text else ()
        if _begin(text) != _begin(clause.text):
            found = [replace(item, whole=item.whole or text) for item in found]
        subject = _WHO.match(text)
        self.who = subject[0] if subject else ""
        self.last = found[-1] if found else None
        return found

    def _by_itself(self, clause: Clause) -> str:
        """The clause as it reads alone: with the subject of the one before, a name for "she"; or ""."""
        text = spelt_out(clause.text)
        if clause.goes_on and not re.match(r"I\b", text):
            works = self.last is not None and self.last.predicate == "employer"
            verb = ("work" if works else "am") if self.who == "I" else ("works" if works else "is")
            text = f"{self.who} {f'{verb} ' if _AT.match(text) else ''}{text}" if self.who else ""
        if pronoun := _PRONOUN.match(text):
            somebody = self._somebody()
            return f"{somebody}{text[pronoun.end() :]}" if somebody else ""
        return text

    def _somebody(self) -> str:
        """Whom what was stated right before is of, as that reads in a text; "" for nobody, and the user."""
        subject = self.last.subject if self.last else ""
        if subject in self.people or is_given_name(subject):
            return subject.title()
        thing = subject.removeprefix(f"{USER}'s ")
        return f"my {thing}" if thing != subject and thing in belongings() else ""

    def _said(self, text: str, clause: Clause, before: Statement | None) -> Sequence[Statement]:
        corrects = clause.corrects or bool(names_wrong(text) or _MEANT.match(text))
        small_talk = not corrects and speech()["small_talk"].match(text)
        if not clause.asked_for and (small_talk or reads_as_instruction(text)):
            return ()
        if before and (other := instead_of(text, before)):
            return (other,)
        bare = undated(text, said_at=self.said_at, zone=self.zone)
        found = self._by_rule(stance_of(text)) or self._by_rule(stance_of(bare))
        if not found and (said := attribute(text, asked_for=clause.asked_for)):
            found = [said]
        if found:
            return [_in_place_of(before, item) for item in found] if corrects else found
        said = correction(text, before, corrects=clause.corrects) if corrects else None
        if clause.asked_for:
            said = replace(said, only_of_known=False) if said else fact(text)
        return (said,) if said else ()

    def _by_rule(self, stance: Stance) -> Sequence[Statement]:
        for rule in statement_rules():
            for pattern in rule.patterns if stance.over or not rule.over else ():
                match = pattern.fullmatch(stance.text)
                subject, role = self._subject(match.groupdict(), stance.text) if match else ("", "")
                if match and subject:
                    found = _with_object(rule, match, stance, said_at=self.said_at, zone=self.zone)
                    if found:
                        return [_of(item, subject, role) for item in found]
        return ()

    def _subject(self, words: Words, text: str) -> tuple[str, str]:
        """The normalised subject, and what one with a name is to the user; "" where nobody is known by it."""
        if relative := words.get("relative"):
            return f"{USER}'s {relative.casefold()}", ""
        who = words.get("who") or "I"
        if who in ("I", "we", "We"):
            return USER, ""
        called = _CALLED.search(who)
        if possessed := POSSESSED.fullmatch(_CALLED.sub("", who)):
            thing = possessed["thing"].casefold()
            owned = f"{USER}'s {thing}" if thing in belongings() else ""
            return (normalised(called[1]), owned) if called and owned else (owned, "")
        if normalised(who) in self.people:
            return normalised(who), ""
        people = [entity for entity in entities_in(text) if entity.kind is EntityKind.PERSON]
        return next((one.normalised for one in people if who in (one.name, one.name.split()[0])), ""), ""


def _begin(text: str) -> str:
    """How a clause begins, whether spelt out or not: "I'm" and "I am" begin alike."""
    return re.split(r"[ '’]", text.casefold(), maxsplit=1)[0].removesuffix("m").removesuffix("ve")


def _in_place_of(before: Statement | None, said: Statement) -> Statement:
    """A correction with the object that it puts right, where the statement before is of the same matter."""
    if before is None or said.replaces or said.negated or said.ends or before.object == said.object:
        return said
    same = (before.subject, before.predicate) == (said.subject, said.predicate)
    return replace(said, replaces=before.object) if same else said


def _of(said: Statement, subject: str, role: str) -> Statement:
    """The statement, of a subject: what others like is no preference of the user's."""
    if subject == USER:
        return said
    category = said.category if said.category is not Category.PREFERENCE else Category.PERSONAL
    return replace(said, subject=subject, role=role, category=category)


def _with_object(
    rule: Rule, match: re.Match[str], stance: Stance, *, said_at: float, zone: tzinfo
) -> Sequence[Statement]:
    """What a rule reads, of the user; each of several objects by itself; nothing where one is unfit."""
    words = match.groupdict()
    given, replaces, negated = object_of(
        words["object"] or "", keep_date=rule.of == "date", said_at=said_at, zone=zone
    )
    if not given and rule.of != "left":
        return ()
    things = _AND.split(given) if not rule.predicate or has_several(rule.predicate) else [given]
    sure = all(fits(thing, rule.of) for thing in things)
    if any(map(is_vague, things)) or not (sure or (rule.of == "place" and _may_be_place(given))):
        return ()
    denied = (negated or stance.negated) != rule.negated
    found = []
    for thing in things:
        predicate = predicate_named(rule.predicate.replace("{thing}", words.get("thing") or ""))
        if predicate == "prefers" and words.get("for"):
            predicate = f"preferred {predicate_named(words['for'] or '')}"
        said = Statement(
            subject=USER,
            predicate=predicate,
            object=thing,
            category=rule.category,
            negated=denied,
            ends=rule.ends or (stance.ends and not denied),
            planned=stance.planned,
            only_of_known=not predicate or not sure,
            replaces=replaces or normal_object(words.get("replaces") or ""),
            whole=with_other(thing, given, match[0]) if len(things) > 1 else "",
        )
        found.append(said)
    job = object_of(words.get("job") or "", keep_date=False, said_at=said_at, zone=zone)[0]
    if job and fits(job, "short"):
        found.append(
            replace(found[0], predicate="job", object=job, whole=f"{words.get('who') or 'I'} work as {job}")
        )
    return found


def _may_be_place(thing: str) -> bool:
    """Whether a word may name a place that is not known: who lived elsewhere lives there now."""
    return " " not in thing and fits(thing, "home") and not is_named(thing, "product")
