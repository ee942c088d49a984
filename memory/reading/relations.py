"""How the things that a text names relate, by the rules of `relations.toml`.

A rule's verb stands between two phrases: the subject is what its clause begins with, the object what follows.
Questions, suppositions and clauses about a pronoun state nothing that could be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from memory.reading import filled, rules_of
from memory.reading.entities import entities_of, shown
from memory.reading.records import EntityKind, Relation

MOST = 8  # relations that are taken of one text
LONGEST_PHRASE = 6  # words: of more, some belong to another part of the sentence
LONGEST_SENTENCE = 1_000  # characters

_SENTENCE = re.compile(r"[^\n.!?]+(?:[.!?](?!\s)[^\n.!?]*)*[.!?]?")
_NOT_STATED = re.compile(
    r"\([^()\n]{1,60}\)|(?:\A|(?<=[.!?\n]))[ \t]{0,9}(?:please,? )?(?:remember|note|keep in mind) that\s",
    re.I,
)
_MARK = r"[^\w\s'’/°%`-]"
_STOPS = f"{{prepositions}}|{{begins_clause}}|{{relates}}|{{verbs}}|{{pronouns}}|{_MARK}"
_KINDS = {"name": {EntityKind.ID, EntityKind.TERM}, "person": {EntityKind.PERSON}, "code": {EntityKind.CODE}}

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Rule:
    label: str
    verb: re.Pattern[str]
    passive: bool  # the phrase on the right is the subject
    subject: str  # a key of `_KINDS`, or "" for any phrase


def relations_in(text: str) -> tuple[Relation, ...]:
    """The first `MOST` relations that a text states, in order; `text` is Markdown or plain."""
    view = shown(text)
    names = {
        kind: [(one.start, one.end) for one in entities_of(view) if one.kind in kinds]
        for kind, kinds in _KINDS.items()
    }
    characters = list(view.text)
    for start, end in view.code:  # no verb and no full stop is read in it
        characters[start:end] = "x" * (end - start)
    prose = _NOT_STATED.sub(lambda match: " " * len(match[0]), "".join(characters))
    found: dict[tuple[str, str, str], Relation] = {}
    for sentence in _SENTENCE.finditer(prose):
        start, end = sentence.span()
        if len(found) < MOST and not sentence[0].endswith("?") and end - start <= LONGEST_SENTENCE:
            for label, left, right, span in _in_sentence(prose[:end], start, names):
                subject, thing = (
                    " ".join(view.text[slice(*end)].replace("`", "").split()) for end in (left, right)
                )
                found.setdefault((subject, label, thing), Relation(subject, label, thing, *span))
    return tuple(found.values())[:MOST]


def _in_sentence(
    text: str, start: int, names: Mapping[str, list[Span]]
) -> Iterator[tuple[str, Span, Span, Span]]:
    """The label, subject, object and place of each relation of the sentence that begins at `start`."""
    if _of("{supposes}").search(text, start):
        return
    left: Span | None = None
    last = start
    verbs = [(match, rule) for rule in rules() for match in rule.verb.finditer(text, start)]
    for match, rule in sorted(verbs, key=lambda item: item[0].start()):
        if match.start() < last:
            continue
        subject, denied = _before(text, start, match.start(), left)
        right = _phrase(text, match.end(), len(text))
        named = not rule.subject or any(
            subject and begin < subject[1] and subject[0] < end for begin, end in names[rule.subject]
        )
        if subject and right and named:
            label = f"not {rule.label}" if denied or match.groupdict().get("not") else rule.label
            ends = (right, subject) if rule.passive else (subject, right)
            yield label, *ends, (subject[0], right[1])
            left, last = (None if rule.passive else subject), match.end()


def _before(text: str, start: int, end: int, last: Span | None) -> tuple[Span | None, bool]:
    """The subject of the verb that begins at `end`, and whether that is denied.

    `last` is the subject of the verb before: of "and does that", too.
    """
    helps = _of(r"(?:(?:{helps}|{denies})\s*)*\Z").search(text[start:end])
    end = start + helps.start() if helps else end
    denied = helps is not None and _of("{denies}").search(helps[0]) is not None
    opener = ""
    for mark in _of(f"{{begins_clause}}|{{relates}}|{_MARK}").finditer(text, start, end):
        start, opener = mark.end(), mark[0].casefold()
    if _of("{relates}").fullmatch(opener):
        return None, denied
    if not text[start:end].strip():
        return (last if opener in ("and", "but") else None), denied
    says_more = _of("{verbs}|{pronouns}").search(text, _begin(text, start), end)
    return (None if says_more else _phrase(text, start, end)), denied


def _begin(text: str, start: int) -> int:
    """Where the first word that is no article begins."""
    match = _of(r"\s*(?:{articles}\s+)*").match(text, start)
    return match.end() if match else start


def _phrase(text: str, start: int, end: int) -> Span | None:
    """The noun phrase that begins at `start`; None where that names nothing that could be asked for."""
    start = _begin(text, start)
    if stop := _of(_STOPS).search(text, start, end):
        end = stop.start()
    phrase = text[start:end].strip()
    words = phrase.split()
    if not 0 < len(words) <= LONGEST_PHRASE or not re.match(r"[^\W\d_]|`", phrase):
        return None
    if _of("(?:.* )?{vague}(?: of .*)?|.*{articles}.*").fullmatch(phrase):
        return None
    return start, start + len(phrase)


# -- rules ---------------------------------------------------------------------------------------------


@cache
def _of(pattern: str) -> re.Pattern[str]:
    """A pattern with the words that it names in braces, by what they do to a phrase."""
    grammar = rules_of("relations")["grammar"].items()
    words = {name: rf"(?<![\w'’-])(?:{'|'.join(each)})(?![\w'’-])" for name, each in grammar}
    return re.compile(filled(pattern, words), re.IGNORECASE)


@lru_cache(maxsize=1)
def rules() -> tuple[_Rule, ...]:
    """A rule for each verb of `relations.toml`, in its order; the first is "means"."""
    found = []
    for row in rules_of("relations")["relation"]:
        for way in ("verbs", "passive"):
            for verb in row.get(way, ()):
                verb = filled(verb, rules_of("relations")["words"])
                compiled = re.compile(rf"(?<![\w'’-])(?:{verb})(?![\w'’-])")
                found.append(_Rule(row["label"], compiled, way == "passive", row.get("subject", "")))
    return tuple(found)
