"""What two statements have to do with each other: whether one excludes, names or repeats the other."""

from __future__ import annotations

import re

from memory.reading import opposed, validity_of, words_of_thing
from memory.reading.objects import preference_keys
from memory.reading.records import Statement
from memory.recalling.user_index import UNREAD, plain
from pipeline.stores.memories import Memory

_DENIES = re.compile(
    r"\b(?:not|never|cannot|no longer|hates?|dislikes?|detests?|loathes?|despises?)\b"
    r"|\b(?:do|does|is|are|am|was|were|ca|have|has)n['’]?t\b",
    re.I,
)
_SWITCHED = re.compile(r"\b(?:switched|migrated|changed)(?: over| back)? to\b", re.IGNORECASE)
_USED = ("uses", "prefers", "preferred ")
_HELD_FOR_ANOTHER = re.compile(r"(?:,| and| but) not .*$", re.I)  # "tea, not coffee" denies no tea


def begun(memory: Memory) -> float:
    """Since when a memory is true, in epoch seconds."""
    return memory.created_at if memory.valid_at is None else memory.valid_at


def over_since(new: Memory, said: Statement) -> float:
    """Since when what a new memory contradicts is over, in epoch seconds.

    "I moved to Bergen" says so by when it begins, "I no longer live in Oslo" by when it ends.
    """
    return new.invalid_at if said.ends and new.invalid_at is not None else begun(new)


def same_thing(one: str, other: str) -> bool:
    """Whether two objects are one thing, the one told in more words: "the car" and "a red Skoda"."""
    first, second = words_of_thing(one), words_of_thing(other)
    return bool(first and second) and (first <= second or second <= first)


def denied(memory: Memory) -> bool:
    """Whether a statement says that its object is not so."""
    return _DENIES.search(_HELD_FOR_ANOTHER.sub("", memory.text, 1)) is not None


def excludes(new: Memory, said: Statement, old: Memory) -> bool:
    """Whether one of two statements of a subject and a predicate denies the other, or is its opposite."""
    alike = (said.negated or denied(new)) == denied(old)
    same = same_thing(old.object, new.object) if said.negated else plain(old.object) == plain(new.object)
    if same or (said.negated and not new.object):
        return not alike
    return alike and opposed(old.object, new.object)


def gives_way(old: Memory, new: Memory, said: Statement) -> bool:
    """Whether something said without a date yields to what is said later, from whenever that holds until now.

    "I live in Oslo", then "I moved to Bergen in March", or that it ended then: Oslo is over since March.
    """
    undated = validity_of(old.text, said_at=old.created_at).start is None
    told_later = 0 < begun(old) <= said.said_at and not same_turn(old, new)
    return undated and told_later and (said.ends or new.invalid_at is None)


def names(old: Memory, new: Memory, said: Statement) -> bool:
    """Whether a memory is what a correction calls wrong, or what somebody uses no longer."""
    wrong = plain(said.replaces)
    if new.predicate and (old.subject, old.predicate) != (new.subject, new.predicate):
        return new.predicate in _USED and old.predicate.startswith(_USED) and plain(old.object) == wrong
    if plain(old.object) == wrong:
        return True
    return old.predicate in UNREAD and bool(re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", plain(old.text)))


def takes_over(new: Memory, old: Memory) -> bool:
    """Whether somebody who switched to one thing no longer uses another of its kind: "switched to Helix"."""
    kinds = preference_keys()
    kind = kinds.get(plain(new.object))
    return kind is not None and kind == kinds.get(plain(old.object)) and bool(_SWITCHED.search(new.text))


def same_turn(one: Memory, other: Memory) -> bool:
    """Whether two memories were said in one message."""
    turns = {source.turn_id for source in one.sources if source.turn_id}
    return bool(turns & {source.turn_id for source in other.sources if source.turn_id})
