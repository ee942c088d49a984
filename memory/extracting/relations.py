"""How the things that a text names relate, by the rules of `relations.toml`.

A rule's verb stands between two phrases: the subject is all of its clause that comes before, the object what
follows. Questions, suppositions and clauses about a pronoun state nothing that could be kept.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

from memory.extracting.entities import entities_of
from memory.extracting.records import EntityKind, Relation
from memory.extracting.shown import Shown, shown

MOST = 8  # relations that are taken of one text
LONGEST_PHRASE = 6  # words: of more, some belong to another part of the sentence
LONGEST_CLAUSE = 24
LONGEST_SENTENCE = 1_000  # characters

_SENTENCE = re.compile(r"[^\n.!?]+(?:[.!?](?!\s)[^\n.!?]*)*[.!?]?")
_TOKEN = re.compile(r"`[^`]*`|[^\W_][\w'’%°/-]*(?:[.:]\w+)*[!]?|[^\w\s]")
_ASIDE = re.compile(r"\([^()\n]{1,60}\)")
_ASKED = re.compile(r"(?:\A|(?<=[.!?\n]))[ \t]{0,9}(?:please,? )?(?:remember|note|keep in mind) that\s", re.I)
_DEFINED = re.compile(r"\s*(?:the |an? )?([^\W\d_][\w-]*(?: [a-z][\w-]*){0,2})\s*: +(?=(?:an?|the) |[a-z])")
_AMOUNT = re.compile(r"(?:about |some |only )?\d[\d.,]*\b")
_MEASURE = re.compile(
    r"\d[\d.,]*\s?(?:%|°C|[kMG]?W(?:h)?|[kM]?Pa|[kMG]?Hz|[km]?V|[mk]?A|kg|g|m[²³]?|km|cm|mm|dB\w*|litres?|liters?|l"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|metres?|meters?|degrees?|percent|bytes?|[kKMGT]i?B)"
    r"(?![\w³²])(?:\s+of\s+(?:the |an? )?)?"
)
_GERUND = re.compile(r"(?!ring|string|spring|wing)[a-z]{3,}ing\b")
_ONLY_IF = re.compile(r"[\s,]*(?:only |just )?(?:if|unless)\b")
_KINDS = {
    "name": {EntityKind.ID, EntityKind.TERM},
    "person": {EntityKind.PERSON},
    "code": {EntityKind.CODE},
}


@dataclass(frozen=True, slots=True)
class _Rule:
    label: str
    verb: re.Pattern[str]
    passive: bool
    subject: str  # a key of `_KINDS`, or "" for any phrase
    object: str  # "clause", "thing" or ""


@dataclass(frozen=True, slots=True)
class _Phrase:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Stated:
    rule: _Rule
    subject: _Phrase
    object: _Phrase
    at: int  # where the verb stands
    until: int
    negated: bool


def relations_in(text: str) -> tuple[Relation, ...]:
    """The first `MOST` relations that a text states, in order; `text` is Markdown or plain."""
    view = shown(text)
    names = {
        kind: [(one.start, one.end) for one in entities_of(view) if one.kind in kinds]
        for kind, kinds in _KINDS.items()
    }
    found: list[Relation] = []
    prose = _hidden(view)
    for sentence in _SENTENCE.finditer(prose):
        for stated in _in_sentence(view, prose[: sentence.end()], sentence.start(), names):
            relation = _relation(view.text, stated)
            if not any(_same(relation, other) for other in found):
                found.append(relation)
        if len(found) >= MOST:
            break
    return tuple(found[:MOST])


def _hidden(view: Shown) -> str:
    """The prose without asides and "remember that", code made opaque: no verb or full stop is read in it."""
    characters = list(view.prose)
    for start, end in view.code:
        characters[start:end] = "x" * (end - start)
    prose = _ASKED.sub(_blank, "".join(characters))
    return _ASIDE.sub(_blank, prose)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _in_sentence(
    view: Shown, text: str, start: int, names: Mapping[str, list[tuple[int, int]]]
) -> Iterator[_Stated]:
    """What the sentence states that begins at `start` and is the end of `text`."""
    if text.endswith("?") or len(text) - start > LONGEST_SENTENCE:
        return
    yield from _defined(view, text, start)
    last: _Stated | None = None
    for rule, match in sorted(_verbs(text, start), key=lambda item: item[1].start()):
        if last and match.start() < last.until:
            continue
        stated = _stated(rule, match, text, start, last)
        if stated and (not rule.subject or _is_named(stated.subject, names[rule.subject])):
            yield stated
            last = stated


def _verbs(text: str, start: int) -> Iterator[tuple[_Rule, re.Match[str]]]:
    for rule in rules():
        for match in rule.verb.finditer(text, start):
            yield rule, match


def _stated(rule: _Rule, match: re.Match[str], text: str, start: int, last: _Stated | None) -> _Stated | None:
    left = _left(text, start, match.start(), last)
    is_clause = rule.object == "clause"
    right = _clause(text, match.end()) if is_clause else _measured(text, _phrase(text, match.end()))
    if not left or not right:
        return None
    subject, denied = left
    if _is_vague(text, subject) or (not is_clause and _is_vague(text, right)):
        return None
    if _ONLY_IF.match(text, right.end):
        return None
    if rule.object == "thing" and _AMOUNT.match(text, right.start):
        return None
    if rule.passive and _GERUND.match(text, right.start):
        return None  # "replaced by setting …": how, not what
    negated = denied or bool(match.groupdict().get("not"))
    if rule.passive:
        subject, right = right, subject
    return _Stated(rule, subject, right, match.start(), match.end(), negated)


def _measured(text: str, phrase: _Phrase | None) -> _Phrase | None:
    """A phrase without the measure it begins with: "58 kg of oxygen" is oxygen, and "58 kg" nothing."""
    measure = _MEASURE.match(text, phrase.start, phrase.end) if phrase else None
    if not phrase or not measure:
        return phrase
    return _Phrase(measure.end(), phrase.end) if measure.end() < phrase.end else None


def _is_vague(text: str, phrase: _Phrase) -> bool:
    """Whether a phrase names nothing that could be asked for: "a lot of …", "more work"."""
    head = text[phrase.start : phrase.end].split(" of ")[0].split()[-1]
    return head.casefold() in grammar()["vague"]


# -- phrases -------------------------------------------------------------------------------------------


def _left(text: str, start: int, end: int, last: _Stated | None) -> tuple[_Phrase, bool] | None:
    """The subject of the verb that begins at `end`, and whether the verb is denied."""
    words = grammar()
    tokens = [match for match in _TOKEN.finditer(text, start, end) if match.end() <= end]
    denied = False
    while tokens and _word(tokens[-1]) in words["helps"] | words["denies"]:
        denied |= _word(tokens.pop()) in words["denies"]
    clause: list[re.Match[str]] = []
    while tokens and not _opens(_word(tokens[-1])):
        clause.insert(0, tokens.pop())
    opener = _word(tokens[-1]) if tokens else ""
    if opener in words["supposes"] | words["conditions"] | words["relates"]:
        return None
    if not clause:
        return _subject_before(tokens, last, denied)
    phrase = _noun_phrase(clause)
    return (phrase, denied) if phrase and not _is_supposed(text, start, phrase.start) else None


def _subject_before(
    tokens: list[re.Match[str]], last: _Stated | None, denied: bool
) -> tuple[_Phrase, bool] | None:
    """For "A does this and does that", A; for "A, beside B, does", A."""
    if not tokens:
        return None
    opener = _word(tokens.pop())
    if opener in {"and", "but"} and last and not last.rule.passive:
        return last.subject, denied
    if opener == "," and (before := [place for place, token in enumerate(tokens) if token[0] == ","]):
        phrase = _noun_phrase(tokens[: before[-1]])
        return (phrase, denied) if phrase else None
    return None


def _noun_phrase(tokens: list[re.Match[str]]) -> _Phrase | None:
    """The phrase that a clause begins with; None where there is none, or a verb of its own."""
    words = grammar()
    while tokens and _word(tokens[0]) in words["articles"]:
        tokens = tokens[1:]
    if not tokens or _word(tokens[0]) in words["pronouns"] | words["prepositions"]:
        return None
    if _GERUND.fullmatch(_word(tokens[0])) and len(tokens) > 1 and _begins_phrase(tokens[1]):
        return None  # "adding the line": what is done, not a thing
    taken = []
    for token in tokens:
        if _word(token) in words["prepositions"]:
            break
        taken.append(token)
    every = {_word(token) for token in tokens}
    if every & (words["verbs"] | words["pronouns"]) or len(taken) > LONGEST_PHRASE:
        return None
    if _word(tokens[-1]) in words["articles"] | words["prepositions"] | {"of"}:
        return None  # "the" verb: a noun
    return _Phrase(taken[0].start(), taken[-1].end()) if _has_word(taken) else None


def _phrase(text: str, start: int) -> _Phrase | None:
    """The noun phrase that begins at `start`."""
    words = grammar()
    taken: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text, start):
        word = _word(token)
        if not taken and (word in words["articles"] or word in {"both", "exactly", "about"}):
            continue
        stops = (
            words["prepositions"]
            | words["relates"]
            | words["begins_clause"]
            | words["supposes"]
            | words["conditions"]
        )
        if word in stops | words["verbs"] | words["pronouns"] or not _is_word(token):
            break
        taken.append(token)
    while taken and _word(taken[-1]) in {"of", "more", "not", "only", "also"} | words["articles"]:
        taken.pop()
    if not taken or len(taken) > LONGEST_PHRASE or not _has_word(taken) or _word(taken[0]) == "of":
        return None
    return _Phrase(taken[0].start(), taken[-1].end())


def _clause(text: str, start: int) -> _Phrase | None:
    """What follows, up to a semicolon or the sentence's end."""
    tokens: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text, start):
        if token[0] in ";:" or len(tokens) > LONGEST_CLAUSE:
            break
        tokens.append(token)
    while tokens and not _is_word(tokens[-1]):
        tokens.pop()
    return _Phrase(tokens[0].start(), tokens[-1].end()) if tokens else None


def _defined(view: Shown, text: str, start: int) -> Iterator[_Stated]:
    """As glossaries have it: "LOX: liquid oxygen", the word emphasised or in capitals."""
    match = _DEFINED.match(text, start)
    if not match:
        return
    first, last = match.span(1)
    marked = view.marked(first, last) or match[1].isupper()
    right = _clause(text, match.end())
    if marked and right:
        yield _Stated(rules()[0], _Phrase(first, last), right, last, match.end(), negated=False)


def _opens(word: str) -> bool:
    words = grammar()
    stops = words["begins_clause"] | words["supposes"] | words["conditions"] | words["relates"]
    return word in stops or not (word[0].isalnum() or word[0] == "`")


def _is_supposed(text: str, start: int, at: int) -> bool:
    """True where the sentence begins with a condition, or the clause with a supposition."""
    first = _TOKEN.search(text, start, at)
    return first is not None and _word(first) in grammar()["supposes"]


def _is_named(phrase: _Phrase, names: list[tuple[int, int]]) -> bool:
    return any(start < phrase.end and phrase.start < end for start, end in names)


def _begins_phrase(token: re.Match[str]) -> bool:
    return _word(token) in grammar()["articles"] | {"this", "that", "these"} or token[0].startswith("`")


def _is_word(token: re.Match[str]) -> bool:
    return token[0][0].isalnum() or token[0][0] == "`"


def _has_word(tokens: list[re.Match[str]]) -> bool:
    return any(any(map(str.isalpha, token[0])) for token in tokens)


def _word(token: re.Match[str]) -> str:
    return token[0].casefold().replace("’", "'")


def _relation(text: str, stated: _Stated) -> Relation:
    label = f"not {stated.rule.label}" if stated.negated else stated.rule.label
    subject, right = (
        " ".join(text[one.start : one.end].replace("`", "").split())
        for one in (stated.subject, stated.object)
    )
    ends = (stated.subject.start, stated.subject.end, stated.object.start, stated.object.end)
    return Relation(subject, label, right, min(ends), max(ends))


def _same(one: Relation, other: Relation) -> bool:
    return replace(one, start=0, end=0) == replace(other, start=0, end=0)


# -- rules ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _data() -> dict[str, dict[str, list[str]]]:
    path = files("memory.extracting") / "relations.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def grammar() -> Mapping[str, frozenset[str]]:
    """Words by what they do to a phrase."""
    return {name: frozenset(words) for name, words in _data()["grammar"].items()}


@lru_cache(maxsize=1)
def rules() -> tuple[_Rule, ...]:
    """A rule for each verb of `relations.toml`, in its order; the first is "means"."""
    data: dict[str, object] = dict(_data())
    words = dict(data["words"])  # type: ignore[call-overload]
    found = []
    for row in data["relation"]:  # type: ignore[attr-defined]
        for way in ("verbs", "passive"):
            for verb in row.get(way, ()):
                for word, pattern in words.items():
                    verb = verb.replace(f"{{{word}}}", pattern)
                compiled = re.compile(rf"(?<![\w'’-])(?:{verb})(?![\w'’-])")
                passive = way == "passive"
                found.append(
                    _Rule(row["label"], compiled, passive, row.get("subject", ""), row.get("object", ""))
                )
    return tuple(found)


def labels() -> tuple[str, ...]:
    """What relations may be called, in the order of the rules."""
    return tuple(dict.fromkeys(rule.label for rule in rules()))
