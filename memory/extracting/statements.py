"""What a user states about themselves, or asks to remember, by the rules of `statements.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, tzinfo

from memory.extracting.clauses import Clause, clauses_of, speech
from memory.extracting.corrections import correction
from memory.extracting.entities import entities_in
from memory.extracting.facts import POSSESSED, USER, Saying, attribute, fact
from memory.extracting.guard import reads_as_instruction, secrets_in
from memory.extracting.importance import importance_of
from memory.extracting.intervals import UNKNOWN, dated, validity_of
from memory.extracting.objects import VAGUE, names_wrong, normal_object, object_of, undated
from memory.extracting.predicates import predicate_named, single_valued
from memory.extracting.records import Category, EntityKind, Statement, Validity
from memory.extracting.rules import (
    Rule,
    belongings,
    preference_keys,
    statement_rules,
    tag_patterns,
)

LONGEST = 400  # characters of a clause; nobody states one thing at greater length

_JOB_AT = re.compile(r"(?P<job>.+?) (?:at|for) (?:the )?(?P<employer>[A-Z].*?)(?: in [A-Z].*)?")
_DENIED = re.compile(r"\b(?:not|cannot|never)\b|n['’]t\b")
_SHOUTED = re.compile(r"\b(?:NOT|NEVER|NO LONGER|CANNOT|[A-Z]+N['’]?T)\b")
_OVER = re.compile(r"\b(?:no longer|any ?more|used to|stopped)\b")
_MEANT = re.compile(r"(?:I mea?nt|make (?:it|that)) ", re.IGNORECASE)
_EMPHATIC = re.compile(
    r"^I do (?=(?:really )?(?:like|love|prefer|hate|use|speak|own|work|live|have|drink|eat)\b)"
)
_CALLED = re.compile(r"(?<=\w) [A-Z][\w’'-]+$")
_ONE_EACH = frozenset(
    (
        "wife",
        "husband",
        "partner",
        "girlfriend",
        "boyfriend",
        "fiancé",
        "fiancée",
        "mother",
        "father",
        "mum",
        "mom",
    )
)
_WHEN_FIRST = re.compile(
    r"(?P<when>(?:since|from|as of|starting|until|till|in|on|last|next|this|yesterday|today|tomorrow|tonight"
    r"|\w+ (?:days?|weeks?|months?|years?) ago)\b[^,;]{0,40}?),?\s+(?P<rest>(?:I|we|my|our)\b.+)",
    re.IGNORECASE | re.DOTALL,
)
_IS_NOT_BUT = re.compile(
    r"(?P<lead>(?:my|our) [^,;]+?) (?:is not|isn['’]t|are not|aren['’]t|was not|wasn['’]t) "
    r"(?P<wrong>[^,;]+?)[,;] (?:but |rather |it['’]s |it is |they['’]re |they are )+(?P<right>.+)",
    re.IGNORECASE,
)
_APOSTROPHES = {
    "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "isnt": "isn't",
    "cant": "can't", "havent": "haven't", "hasnt": "hasn't", "wasnt": "wasn't", "arent": "aren't",
}  # fmt: skip
_WITH = re.compile(r"(?<!\S)w/(?P<out>o)?(?=\s)", re.IGNORECASE)
_NO_APOSTROPHE = re.compile(rf"\b(?:{'|'.join(_APOSTROPHES)})\b", re.IGNORECASE)

Words = Mapping[str, str | None]


def statements_in(
    message: str, *, said_at: float, before: Statement | None = None, zone: tzinfo = UTC
) -> tuple[Statement, ...]:
    """The statements of a user's message in order; none of questions, hypotheticals and small talk.

    `said_at` is the message's time (epoch seconds). `before` is the last statement that the user made: what
    "actually, it is Y" corrects. What holds a secret is left out; what reads like an instruction is kept
    only where the user asked to remember it, as not trusted.
    """
    found: list[Statement] = []
    subject = ""  # of the clause before, where that stated something
    for clause in clauses_of(message):
        if len(clause.text) > LONGEST:
            continue
        said = _said(clause, subject, found[-1] if found else before, said_at=said_at, zone=zone)
        if said is None or (said.only_of_known and clause.asks):
            subject = ""
            continue
        subject = said.subject
        for one, words in _apart(said, clause):
            statement = _statement(message, words, one, said_at=said_at, zone=zone)
            if not secrets_in(statement.text) and "•" not in statement.text:
                found.append(statement)
    return tuple(found)


def _apart(said: Saying, clause: Clause) -> tuple[tuple[Saying, Clause], ...]:
    """A job with its employer as two things, each with the words that say it: "nurse at Mercy Hospital"."""
    match = _JOB_AT.fullmatch(said.object) if said.predicate == "job" else None
    if not match or match["job"] not in clause.text:
        return ((said, clause),)
    length = clause.text.index(match["job"]) + len(match["job"])
    job = replace(clause, text=clause.text[:length], end=clause.start + length)
    employer = replace(said, predicate="employer", object=match["employer"])
    return (replace(said, object=match["job"]), job), (employer, clause)


def _statement(message: str, clause: Clause, said: Saying, *, said_at: float, zone: tzinfo) -> Statement:
    start = message.rfind(clause.by, 0, clause.start) if clause.by else clause.start
    text = message[start : clause.end]
    validity = _holds(said, validity_of(clause.text, said_at=said_at, zone=zone), said_at=said_at)
    importance = importance_of(text)
    why = importance.explanation
    rating = importance.rating
    if clause.asked_for and rating < 7:
        rating, why = 7, "the user asked to remember it"
    return Statement(
        text=text,
        subject=said.subject,
        predicate=said.predicate,
        object=said.object,
        category=said.category,
        start=start,
        end=clause.end,
        valid_at=validity.valid_at,
        invalid_at=validity.invalid_at,
        tags=_tags(text, said.tags),
        preferences=said.preferences,
        importance=rating,
        importance_why=why,
        single_valued=single_valued(said.predicate),
        negated=said.negated,
        ends=said.ends,
        corrects=clause.corrects or bool(said.replaces),
        replaces=said.replaces,
        whole=said.whole,
        only_of_known=said.only_of_known,
        asked_for=clause.asked_for,
        trusted=not reads_as_instruction(text),
    )


def _holds(said: Saying, validity: Validity, *, said_at: float) -> Validity:
    """When a statement is true, of the time that its words name."""
    if said.ends:
        ended = validity.invalid_at is not None
        return validity if ended else replace(validity, valid_at=UNKNOWN, invalid_at=validity.valid_at)
    if said.predicate == "birthday":
        return Validity(said_at)
    if (said.category is Category.GENERAL or said.predicate == "is") and validity.start is not None:
        ahead = validity.valid_at > said_at  # that the meeting is on Friday is true until then
        return Validity(said_at, validity.invalid_at) if ahead else replace(validity, invalid_at=None)
    return validity


def _tags(text: str, own: tuple[str, ...]) -> tuple[str, ...]:
    found = [name for name, pattern in tag_patterns() if pattern.search(text)]
    return tuple(dict.fromkeys((*own, *found)))


# -- what a clause says --------------------------------------------------------------------------------


def _said(
    clause: Clause, subject: str, before: Statement | None, *, said_at: float, zone: tzinfo
) -> Saying | None:
    text = _spelt_out(clause.text)
    if clause.goes_on and not subject:
        return None
    if clause.by:
        text = f"{clause.by} {text}"
    elif clause.goes_on and not re.match(r"I\b", text):
        text = f"I {text}"
    text = _EMPHATIC.sub("I ", _date_last(text, said_at=said_at, zone=zone))
    corrects = clause.corrects or bool(names_wrong(text) or _MEANT.match(text))
    if not clause.asked_for and not corrects and speech()["small_talk"].match(text):
        return None
    if reads_as_instruction(text) and not clause.asked_for:
        return None
    bare = undated(text, said_at=said_at, zone=zone)
    said = _by_rule(text, said_at=said_at, zone=zone)
    said = said or (_by_rule(bare, said_at=said_at, zone=zone) if bare != text else None)
    said = said or attribute(text, asked_for=clause.asked_for)
    if said and clause.goes_on and said.subject == USER:
        said = replace(said, subject=subject, whole=_of_subject(subject, clause.text))
    if said:
        return _in_place_of(before, said) if corrects else said
    said = correction(text, before, corrects=clause.corrects) if corrects else None
    if clause.asked_for:
        return replace(said, only_of_known=False) if said else fact(text)
    return said


def _in_place_of(before: Statement | None, said: Saying) -> Saying:
    """A correction with the object that it puts right, where the statement before is of the same matter."""
    if before is None or said.replaces or said.negated or said.ends or before.object == said.object:
        return said
    same = (before.subject, before.predicate) == (said.subject, said.predicate)
    return replace(said, replaces=before.object) if same else said


def _of_subject(subject: str, text: str) -> str:
    """A clause that goes on with a subject of the user's, by itself: "my sister lives in Rome"."""
    _, of_user, thing = subject.partition(f"{USER}'s ")
    return f"my {thing} {text}" if of_user and not re.match(r"I\b", text) else ""


def _spelt_out(text: str) -> str:
    """With what hurried writers leave out, and "it is not X, it is Y" as "it is Y, not X"."""
    text = _SHOUTED.sub(lambda match: match[0].lower(), text)
    text = _WITH.sub(lambda match: "without" if match["out"] else "with", text)
    text = _NO_APOSTROPHE.sub(lambda match: _APOSTROPHES[match[0].casefold()], text)
    if match := _IS_NOT_BUT.fullmatch(text):
        return f"{match['lead']} is {match['right']}, not {match['wrong']}"
    return text


def _date_last(text: str, *, said_at: float, zone: tzinfo) -> str:
    """With the date after what it is of: "since May I live in Graz" is "I live in Graz since May"."""
    match = _WHEN_FIRST.fullmatch(text)
    if not match or not dated(match["when"], said_at=said_at, zone=zone):
        return text
    when = match["when"]
    return f"{match['rest']} {when[0].lower()}{when[1:]}"


def _by_rule(text: str, *, said_at: float, zone: tzinfo) -> Saying | None:
    for rule in statement_rules():
        for pattern in rule.patterns:
            match = pattern.fullmatch(text)
            if not match or (rule.unless and rule.unless.search(text)):
                continue
            words = match.groupdict()
            subject = _subject(words, text)
            if not subject:
                continue
            said = _with_object(rule, match, subject, said_at=said_at, zone=zone)
            if said:
                return said
    return None


def _with_object(
    rule: Rule, match: re.Match[str], subject: str, *, said_at: float, zone: tzinfo
) -> Saying | None:
    text, words = match[0], match.groupdict()
    thing, replaces, negated = object_of(
        words["object"] or "", keep_date=rule.keep_date, said_at=said_at, zone=zone
    )
    if not thing or VAGUE.match(thing) or len(thing.split()) > rule.most_words:
        return None
    replaces = replaces or normal_object(words.get("replaces") or "")
    predicate = rule.predicate
    if named := words.get("thing"):
        predicate = predicate_named(predicate.replace("{thing}", named))
    ends = rule.ends and not (_DENIED.search(text) and not _OVER.search(text))
    key = _key(rule, words, thing)
    if key and predicate == "prefers":
        predicate = f"preferred {key}"
    denied = negated != rule.negated or (rule.ends and not ends)
    preferences: tuple[tuple[str, str], ...] = ()
    if subject == USER and rule.category is Category.PREFERENCE and not rule.ends:
        dislike = "dislikes" if predicate == "likes" else f"not {predicate}"
        preferences = ((key, thing),) if key and not denied else ((dislike if denied else predicate, thing),)
    category = rule.category if subject == USER else Category.PERSONAL
    return Saying(subject, predicate, thing, category, rule.tags, preferences, denied, ends, replaces)


def _key(rule: Rule, words: Words, thing: str) -> str:
    """What a preference is about: named, or known of the thing ("zsh" is a shell); "" where neither."""
    if named := words.get("thing") or words.get("for"):
        return predicate_named(named)
    if rule.category is not Category.PREFERENCE or rule.predicate == "likes":
        return ""
    return preference_keys().get(thing.casefold(), "")


def _subject(words: Words, text: str) -> str:
    """The normalised subject; "" where the words name nobody who is known to be one."""
    if relative := words.get("relative"):
        return f"{USER}'s {relative}"
    who = words.get("who") or "I"
    if who in ("I", "we", "We") or who.startswith(("every", "Every")):
        return USER
    called = _CALLED.search(who)
    if possessed := POSSESSED.fullmatch(_CALLED.sub("", who)):
        thing = possessed["thing"].casefold()
        if thing not in belongings():
            return ""
        several = called is not None and thing not in _ONE_EACH  # "my friend Ada" is not "my friend Bob"
        return f"{USER}'s {thing}{called[0].casefold() if called and several else ''}"
    people = [entity for entity in entities_in(text) if entity.kind is EntityKind.PERSON]
    return next((one.normalised for one in people if who in (one.name, one.name.split()[0])), "")
