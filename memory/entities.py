"""Find entities (ids, places, capitalised names) and relations (eight verbs) by regular expressions.

Without a language model, the graph has nothing else. Ordinary words are never entities.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from pipeline.analysis import analyse, stop_terms

LONGEST = 20_000  # characters of a text that are read
MOST_RELATIONS = 8  # of one text

VERBS: dict[str, str] = {
    "lives in": r"(?:lives?|lived|is based|grew up) in",
    "works at": r"(?:works?|worked|is employed) (?:at|for|with)",
    "part of": r"(?:is|are) (?:a )?part of|belongs to",
    "contains": r"contains?|includes?|consists of|has|have",
    "causes": r"causes?|triggers?|leads to",
    "requires": r"requires?|needs?|depends on",
    "feeds": r"feeds?|powers?|supplies",
    "knows": r"knows?|met|married|is married to",
}
"""Labels of relations, each with a pattern for the words between its subject and its object."""

_CAPITAL = r"(?:[^\W\d_a-zà-ÿ][\w’'-]*\w)"  # a word with a capital first letter
_ID = re.compile(
    r"(?<![\w./-])(?:[A-Z]{1,6}(?:-[A-Z0-9]{1,6}){1,3}|[A-Z]{1,4}\d{2,6}|v?\d+(?:\.\d+){2,3})(?![\w-])"
)
_NAME = re.compile(rf"(?<![\w./-]){_CAPITAL}(?: {_CAPITAL}){{0,3}}")
_PLACE_BEFORE = re.compile(r"\b(?:in|to|from|near) $", re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n.!?]+(?:[.!?](?!\s)[^\n.!?]*)*")
_RELATIONS = {
    label: re.compile(rf",? (?:also )?(?:{verb}) (?:the |a |an |our )?", re.I)
    for label, verb in VERBS.items()
}
_VERB_AFTER = re.compile(rf" (?:{'|'.join(VERBS.values())})\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|my|your|our|their|his|her|its) (?=\S)")


@dataclass(frozen=True, slots=True)
class Named:
    """One entity named in a text, from code point `start` to `end`; both are 0 if a model found it."""

    name: str
    kind: str  # "id", "place" or "name"; any word if a model found it
    start: int = 0
    end: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stated:
    """One relation that a text states between two entities."""

    subject: str
    label: str
    object: str


@lru_cache(maxsize=4096)
def normalised(name: str) -> str:
    """Return a name for comparison: lower case, without outer punctuation, article, "my" and "'s"."""
    plain = " ".join(unicodedata.normalize("NFKC", name).casefold().replace("’", "'").split())
    return _ARTICLE.sub("", plain.strip(" ,;:.!?`\"'").removesuffix("'s"))


def entities_in(text: str) -> tuple[Named, ...]:
    """Return the entities in a text's first `LONGEST` characters, in order, without overlaps."""
    text = text[:LONGEST]
    found = [Named(match[0], "id", *match.span()) for match in _ID.finditer(text)]
    taken = [(item.start, item.end) for item in found]
    for match in _NAME.finditer(text):
        item = _name(text, match)
        if item and not any(start < item.end and item.start < end for start, end in taken):
            found.append(item)
    return tuple(sorted(found, key=lambda item: item.start))


def _name(text: str, match: re.Match[str]) -> Named | None:
    """Return the entity in capitalised words; None if the only capital is that of a sentence's first word."""
    start, end = match.span()
    words = match[0].split(" ")
    begins = not re.search(r"[\w,;:)’'] $", text[:start][-2:])
    while words and (begins or _is_stop(words[0])) and _is_stop(words[0]):
        start += len(words[0]) + 1
        words, begins = words[1:], False
    name = " ".join(words).removesuffix("'s").removesuffix("’s")
    if not words or name in ("I",) or (begins and len(words) == 1 and not _VERB_AFTER.match(text, end)):
        return None
    return Named(name, "place" if _PLACE_BEFORE.search(text[:start]) else "name", start, start + len(name))


def _is_stop(word: str) -> bool:
    return all(term in stop_terms() for term in analyse(word))


def relations_in(text: str) -> tuple[Stated, ...]:
    """Return at most 8 relations: two entities with just one of `VERBS` between them, not in a question."""
    return tuple(_relations(text[:LONGEST], entities_in(text)))[:MOST_RELATIONS]


def _relations(text: str, entities: Sequence[Named]) -> Iterator[Stated]:
    for sentence in _SENTENCE.finditer(text):
        if text[sentence.start() : sentence.end() + 1].rstrip().endswith("?"):
            continue
        inside = [item for item in entities if sentence.start() <= item.start < sentence.end()]
        for subject, thing in pairwise(inside):
            between = text[subject.end : thing.start]
            for label, verb in _RELATIONS.items():
                if verb.fullmatch(between):
                    yield Stated(subject.name, label, thing.name)
