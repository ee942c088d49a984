"""What two statements have to do with each other: whether one excludes, names or repeats the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.extracting import opposed, sides_in, validity_of
from memory.index import UNREAD, plain
from pipeline.stores.memories import Memory

_TELLING = re.compile(
    r"\d[\w.,:-]*|\b(?:not|never|no longer|none|without|isn['’]t|don['’]t|doesn['’]t)\b", re.I
)
_DENIES = re.compile(
    r"\b(?:not|never|cannot|no longer|hates?|dislikes?|detests?|loathes?|despises?)\b"
    r"|\b(?:do|does|is|are|am|was|were|ca|have|has)n['’]?t\b",
    re.I,
)
_HELD_FOR_ANOTHER = re.compile(r"(?:,| and| but) not .*$", re.I)  # "tea, not coffee" denies no tea


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that may be kept, with what its words say of others."""

    memory: Memory
    single_valued: bool = False
    corrects: bool = False  # something said before is wrong
    replaces: str = ""  # the object that is, where it is named
    ends: bool = False  # it was true and is no longer
    negated: bool = False
    said_at: float = 0.0  # when it was said; 0 where that is not known
    start: int = 0  # of its words in the message
    end: int = 0


def cosine(one: Memory, other: Memory) -> float:
    """The cosine of two memories' embeddings; 0 where they have none of one model."""
    if not one.embedding or not other.embedding or one.embedded_by != other.embedded_by:
        return 0.0
    first, second = (np.frombuffer(memory.embedding, dtype=np.float32) for memory in (one, other))
    return float(first @ second)


def begun(memory: Memory) -> float:
    """Since when a memory is true, in epoch seconds."""
    return memory.created_at if memory.valid_at is None else memory.valid_at


def over_since(candidate: Candidate) -> float:
    """Since when what a candidate contradicts is over, in epoch seconds.

    "I moved to Bergen" says so by when it begins, "I no longer live in Oslo" by when it ends.
    """
    new = candidate.memory
    return new.invalid_at if candidate.ends and new.invalid_at is not None else begun(new)


def telling(memory: Memory) -> frozenset[str]:
    """The numbers and the negations of a statement, and the sides it takes where there are opposites."""
    found = _TELLING.findall(memory.text)
    return sides_in(memory.text).union(item.casefold().rstrip(".,:") for item in found)


def denied(memory: Memory) -> bool:
    """Whether a statement says that its object is not so."""
    return _DENIES.search(_HELD_FOR_ANOTHER.sub("", memory.text, 1)) is not None


def excludes(candidate: Candidate, old: Memory) -> bool:
    """Whether one of two statements of a subject and a predicate denies the other, or is its opposite."""
    new = candidate.memory
    alike = (candidate.negated or denied(new)) == denied(old)
    if plain(old.object) == plain(new.object) or (candidate.negated and not new.object):
        return not alike
    return alike and opposed(old.object, new.object)


def gives_way(old: Memory, candidate: Candidate) -> bool:
    """Whether something said without a date yields to what is said later, from whenever that holds until now.

    "I live in Oslo", then "I moved to Bergen in March", or that it ended then: Oslo is over since March.
    """
    new = candidate.memory
    undated = validity_of(old.text, said_at=old.created_at).start is None
    told_later = 0 < begun(old) <= candidate.said_at and not same_turn(old, new)
    return undated and told_later and (candidate.ends or new.invalid_at is None)


def but_for_one(one: str, other: str) -> bool:
    """Whether two texts begin alike and differ in one stretch of words, at most half of them."""
    first, second = (re.findall(r"[\w.:-]+", plain(text)) for text in (one, other))
    begin = _shared(first, second)
    end = _shared(first[begin:][::-1], second[begin:][::-1])
    return begin > 0 and begin + end < max(len(first), len(second)) <= 2 * (begin + end)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two lists have alike from their beginning on."""
    apart = (number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(apart, min(len(one), len(other)))


def of_another_thing(old: Memory, new: Memory) -> bool:
    """Whether word by word more differs than one thing, or a number in the first half: "crate 1 holds …"."""
    one, other = (re.findall(r"\w+", memory.text.casefold()) for memory in (old, new))
    if len(one) != len(other):
        return False
    places = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return len(places) > 1 or any(place < len(one) / 2 for place in places)


def names(old: Memory, candidate: Candidate) -> bool:
    """Whether a memory is what a correction calls wrong."""
    new, wrong = candidate.memory, plain(candidate.replaces)
    if new.predicate and (old.subject, old.predicate) != (new.subject, new.predicate):
        return False
    if plain(old.object) == wrong:
        return True
    if new.predicate and wrong.isdecimal():  # "nr 6, not 4" of what was "nr 4"
        return wrong in re.findall(r"\w+", plain(old.object))
    return old.predicate in UNREAD and bool(re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", plain(old.text)))


def same_turn(one: Memory, other: Memory) -> bool:
    """Whether two memories were said in one message."""
    turns = {source.turn_id for source in one.sources if source.turn_id}
    return bool(turns & {source.turn_id for source in other.sources if source.turn_id})
