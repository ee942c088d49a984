"""What becomes of a new memory, by rule: kept, known already, in the place of another, or disputed.

| what is there | what happens |
|---|---|
| the same text, live; or in history, at that time | nothing |
| the same statement in other words | it is touched |
| another object of the same subject and single-valued predicate; its opposite or denial | it ends |
| what an explicit correction names, or all that is known of its subject and attribute | it ends |
| a contradiction of which nothing says who is right | both stay, disputed |
| anything else, however similar | both stay |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from memory.extracting import has_several, opposed, sides_in, validity_of
from memory.extracting.dates import UNKNOWN
from memory.ids import new_id
from memory.index import UNREAD, plain
from pipeline.errors import AthenaError
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent

if TYPE_CHECKING:
    from memory.index import UserIndex

SAME_STATEMENT = 0.95  # cosine, with the same subject and predicate
SAME_MATTER = 0.8  # cosine of two statements of which one may contradict the other

Outcome = Literal["added", "known", "touched", "replaced", "disputed", "ended"]

_TELLING = re.compile(
    r"\d[\w.,:-]*|\b(?:not|never|no longer|none|without|isn['’]t|don['’]t|doesn['’]t)\b", re.I
)
_DENIES = re.compile(
    r"\b(?:not|never|cannot|no longer|hates?|dislikes?|detests?|loathes?|despises?)\b"
    r"|\b(?:do|does|is|are|am|was|were|ca|have|has)n['’]?t\b",
    re.I,
)
_NUMBER = re.compile(r"\d")
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


@dataclass(slots=True)
class Deciding:
    """Decisions on one user's memories, taken one after the other, as one set of changes."""

    index: UserIndex
    now: float
    memories: dict[str, Memory] = field(default_factory=dict)  # written or replaced
    events: list[MemoryEvent] = field(default_factory=list)
    outcomes: list[tuple[Outcome, str]] = field(default_factory=list)  # with ids of memories

    @property
    def changes(self) -> MemoryChanges:
        """All of it, as one write."""
        return MemoryChanges(memories=tuple(self.memories.values()), events=tuple(self.events))

    def decide(self, candidate: Candidate) -> None:
        """Decide on one more."""
        new = candidate.memory
        if known := self._said_before(candidate):
            self.outcomes.append(("known", known.id))
            return
        if reworded := self._reworded(candidate):
            self._write("TOUCH", replace(reworded, accessed_at=self.now, accesses=reworded.accesses + 1))
            self.outcomes.append(("touched", reworded.id))
            return
        contradicted = self.contradicted(candidate)
        if candidate.corrects and candidate.replaces and not new.predicate and len(contradicted) == 1:
            new = replace(new, subject=contradicted[0].subject, predicate=contradicted[0].predicate)
        if contradicted and not self._decides(candidate, contradicted):
            self._dispute(new, contradicted)
            return
        ended = [old for old in contradicted if _begun(old) <= _begun(new) or _gives_way(old, candidate)]
        later = [old for old in contradicted if old not in ended]
        if later and new.invalid_at is None:  # told afterwards: it was true until then
            new = replace(new, invalid_at=min(map(_begun, later)))
        self._write("ADD", new)
        for old in ended:
            self._end(old, by=new)
        if unsure := self._at_odds(candidate):
            self._dispute(new, unsure)
        else:
            self.outcomes.append(("replaced" if ended else "added", new.id))

    # -- what is there ----------------------------------------------------------------------------------

    def _live(self, found: Iterable[Memory], new: Memory) -> list[Memory]:
        """Those of the found and of the added that are believed and not over."""
        everything = {memory.id: memory for memory in found} | self.memories
        return [
            memory
            for memory in everything.values()
            if memory.id != new.id
            and memory.tier != "static"
            and memory.expired_at is None
            and (memory.invalid_at is None or memory.invalid_at > self.now)
        ]

    def _said_before(self, candidate: Candidate) -> Memory | None:
        """The memory that says the same, live, or true when this was said; or that was made of it already."""
        new = candidate.memory
        same = {memory.id: memory for memory in self.index.with_text(new.text)}
        same |= {key: item for key, item in self.memories.items() if plain(item.text) == plain(new.text)}
        for memory in same.values():
            memory = self.memories.get(memory.id, memory)
            if memory.expired_at is None and memory.invalid_at is None:
                return memory
            said_anew = memory.expired_at is not None and candidate.said_at > memory.expired_at
            held = memory.invalid_at is not None and _begun(memory) <= _begun(new) < memory.invalid_at
            if held and not said_anew:
                return memory
            if 0 < candidate.said_at <= memory.created_at and _begun(memory) <= _begun(new):
                return memory
        return None

    def _reworded(self, candidate: Candidate) -> Memory | None:
        new = candidate.memory
        if not new.predicate or candidate.ends or candidate.corrects:
            return None
        unread = new.predicate in UNREAD
        for old in self._live(self.index.about(new.subject, new.predicate), new):
            if (old.subject, old.predicate) != (new.subject, new.predicate) or old.trusted != new.trusted:
                continue
            same_object = not unread and bool(new.object) and plain(old.object) == plain(new.object)
            alike = (unread or not (new.object and old.object)) and cosine(old, new) >= SAME_STATEMENT
            if (same_object or alike) and _telling(old) == _telling(new) and _denied(old) == _denied(new):
                return old
        return None

    def contradicted(self, candidate: Candidate) -> list[Memory]:
        """What can no longer be true once this is."""
        new = candidate.memory
        if not new.trusted:
            return []
        if candidate.replaces:
            named = [old for old in self._live(self.index.memories.values(), new) if _names(old, candidate)]
            if named or not (candidate.corrects and new.predicate):
                return named
        if not new.predicate:
            return []
        same = [
            old
            for old in self._live(self.index.about(new.subject, new.predicate), new)
            if (old.subject, old.predicate) == (new.subject, new.predicate)
        ]
        if candidate.ends:
            return [old for old in same if not new.object or plain(old.object) == plain(new.object)]
        opposites = [old for old in same if _excludes(candidate, old)]
        if candidate.single_valued and not candidate.negated:
            return [old for old in same if old in opposites or plain(old.object) != plain(new.object)]
        if candidate.corrects and not candidate.negated and not opposites:
            return self._meant(candidate, same)
        return opposites

    def _meant(self, candidate: Candidate, same: Sequence[Memory]) -> list[Memory]:
        """What an explicit correction is of, where its predicate may have several values.

        Of an attribute of the same subject; of words that no rule reads, what says the same but for one
        thing. Numbers stand for numbers.
        """
        new = candidate.memory
        if new.predicate in UNREAD:
            unread = self._live(self._unread(new.subject), new)
            meant = [old for old in unread if old.predicate in UNREAD and _but_for_one(old.text, new.text)]
        elif has_several(new.predicate):
            return []
        else:
            meant = [old for old in same if plain(old.object) != plain(new.object)]
        numbered = bool(_NUMBER.search(new.object))
        alike = [old for old in meant if bool(_NUMBER.search(old.object)) == numbered]
        return alike or (meant if len(meant) == 1 else [])

    def _decides(self, candidate: Candidate, contradicted: Sequence[Memory]) -> bool:
        """Whether a rule says that the new one is right: a later word of the same kind of speaker."""
        new = candidate.memory
        if new.origin != "user" and any(old.origin == "user" for old in contradicted):
            return False
        if candidate.replaces:
            return len({(old.subject, old.predicate) for old in contradicted}) == 1
        if candidate.corrects and not candidate.single_valued:
            return len(contradicted) == 1
        if candidate.corrects or candidate.ends or candidate.negated:
            return True
        return not any(_same_turn(old, new) and _begun(old) == _begun(new) for old in contradicted)

    def _at_odds(self, candidate: Candidate) -> list[Memory]:
        """Statements on the same matter that differ in numbers or in a "not", where no predicate helps."""
        new = candidate.memory
        if new.predicate not in UNREAD or not new.trusted or candidate.corrects or new.kind != "fact":
            return []
        return [
            old
            for old in self._live(self._unread(new.subject), new)
            if old.predicate in UNREAD
            and old.trusted
            and old.kind == "fact"
            and old.subject == new.subject
            and _telling(old) != _telling(new)
            and not _of_another_thing(old, new)
            and cosine(old, new) >= SAME_MATTER
        ]

    def _unread(self, subject: str) -> list[Memory]:
        return [memory for predicate in UNREAD for memory in self.index.about(subject, predicate)]

    # -- what is written ----------------------------------------------------------------------------------

    def _write(self, action: Action, memory: Memory, *, other: str = "") -> None:
        self.memories[memory.id] = memory
        self.events.append(
            MemoryEvent(
                id=new_id(), user=memory.user, memory_id=memory.id, action=action, at=self.now, other_id=other
            )
        )

    def _end(self, old: Memory, *, by: Memory) -> None:
        """The old one stays as history: it held until the new one did."""
        until = _begun(by)
        expired = self.now if until <= self.now else None
        since = old.valid_at if _begun(old) <= until else UNKNOWN
        ended = replace(old, valid_at=since, invalid_at=until, expired_at=expired)
        self._write("INVALIDATE", ended, other=by.id)

    def _dispute(self, new: Memory, others: Sequence[Memory]) -> None:
        group = next((old.disputed for old in others if old.disputed), "") or new_id()
        for side in (new, *others):
            other = others[0].id if side is new else new.id
            action: Action = "DISPUTE" if side.id in self.memories or side is not new else "ADD"
            self._write(action, replace(side, disputed=group), other=other)
        self.outcomes.append(("disputed", new.id))


def cosine(one: Memory, other: Memory) -> float:
    """The cosine of two memories' embeddings; 0 where they have none of one model."""
    if not one.embedding or not other.embedding or one.embedded_by != other.embedded_by:
        return 0.0
    first, second = (np.frombuffer(memory.embedding, dtype=np.float32) for memory in (one, other))
    return float(first @ second)


def sides_of(index: UserIndex, memory: Memory) -> list[Memory]:
    """All sides of a memory's dispute, itself among them; none where there is no dispute."""
    with index.lock:
        return [
            side for side in index.memories.values() if memory.disputed and side.disputed == memory.disputed
        ]


def resolved(index: UserIndex, keep: Memory, *, now: float, believe: bool) -> MemoryChanges:
    """A dispute decided by the user: `keep` is right and the others were wrong, or only `keep` was wrong.

    Where several others are left, these are still disputed. Raises `AthenaError` where there is no dispute.
    """
    sides = _disputed_sides(index, keep)
    settled = believe or len(sides) <= 2
    written, events = [], []
    for side in sides:
        right = (side.id == keep.id) == believe
        if right and not settled:
            continue
        end = {} if right else {"invalid_at": _begun(side), "expired_at": now}
        written.append(replace(side, disputed="", **end))  # type: ignore[arg-type]
        other = keep.id if side.id != keep.id else ""
        events.append(_decided(side, "RESOLVE" if right else "INVALIDATE", now, other=other))
    return MemoryChanges(memories=tuple(written), events=tuple(events))


def agreed(index: UserIndex, one: Memory, *, now: float) -> MemoryChanges:
    """A dispute that was none, as the user says: all sides stay, and none is disputed any more.

    Raises `AthenaError` where there is no dispute.
    """
    sides = _disputed_sides(index, one)
    return MemoryChanges(
        memories=tuple(replace(side, disputed="") for side in sides),
        events=tuple(_decided(side, "RESOLVE", now) for side in sides),
    )


def _disputed_sides(index: UserIndex, memory: Memory) -> list[Memory]:
    sides = sides_of(index, memory)
    if not sides:
        raise AthenaError(f"Memory '{memory.id}' is not disputed.", "There is nothing to decide.")
    return sides


def _decided(side: Memory, action: Action, now: float, *, other: str = "") -> MemoryEvent:
    return MemoryEvent(id=new_id(), user=side.user, memory_id=side.id, action=action, at=now, other_id=other)


def _begun(memory: Memory) -> float:
    return memory.created_at if memory.valid_at is None else memory.valid_at


def _telling(memory: Memory) -> frozenset[str]:
    """The numbers and the negations of a statement, and the sides it takes where there are opposites."""
    found = _TELLING.findall(memory.text)
    return sides_in(memory.text).union(item.casefold().rstrip(".,:") for item in found)


def _denied(memory: Memory) -> bool:
    """Whether a statement says that its object is not so."""
    return _DENIES.search(_HELD_FOR_ANOTHER.sub("", memory.text, 1)) is not None


def _excludes(candidate: Candidate, old: Memory) -> bool:
    """Whether one of two statements of a subject and a predicate denies the other, or is its opposite."""
    new = candidate.memory
    alike = (candidate.negated or _denied(new)) == _denied(old)
    if plain(old.object) == plain(new.object) or (candidate.negated and not new.object):
        return not alike
    return alike and opposed(old.object, new.object)


def _gives_way(old: Memory, candidate: Candidate) -> bool:
    """Whether something said without a date yields to what is said later, from whenever that holds until now.

    "I live in Oslo", then "I moved to Bergen in March": Oslo is over since March.
    """
    new = candidate.memory
    undated = validity_of(old.text, said_at=old.created_at).start is None
    told_later = 0 < _begun(old) <= candidate.said_at and not _same_turn(old, new)
    return undated and told_later and new.invalid_at is None


def _but_for_one(one: str, other: str) -> bool:
    """Whether two texts begin alike and differ in one stretch of words, at most half of them."""
    first, second = (re.findall(r"[\w.:-]+", plain(text)) for text in (one, other))
    begin = _shared(first, second)
    end = _shared(first[begin:][::-1], second[begin:][::-1])
    return begin > 0 and begin + end < max(len(first), len(second)) <= 2 * (begin + end)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two lists have alike from their beginning on."""
    apart = (number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(apart, min(len(one), len(other)))


def _of_another_thing(old: Memory, new: Memory) -> bool:
    """Whether word by word more differs than one thing, or a number in the first half: "crate 1 holds …"."""
    one, other = (re.findall(r"\w+", memory.text.casefold()) for memory in (old, new))
    if len(one) != len(other):
        return False
    places = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return len(places) > 1 or any(place < len(one) / 2 for place in places)


def _names(old: Memory, candidate: Candidate) -> bool:
    """Whether a memory is what a correction calls wrong."""
    new, wrong = candidate.memory, plain(candidate.replaces)
    if new.predicate and (old.subject, old.predicate) != (new.subject, new.predicate):
        return False
    if plain(old.object) == wrong:
        return True
    if new.predicate and wrong.isdecimal():  # "nr 6, not 4" of what was "nr 4"
        return wrong in re.findall(r"\w+", plain(old.object))
    return old.predicate in UNREAD and bool(re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", plain(old.text)))


def _same_turn(one: Memory, other: Memory) -> bool:
    turns = {source.turn_id for source in one.sources if source.turn_id}
    return bool(turns & {source.turn_id for source in other.sources if source.turn_id})
