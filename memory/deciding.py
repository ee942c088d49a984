"""What becomes of a new memory, by rule: kept, known already, in the place of another, or disputed.

| what is there | what happens |
|---|---|
| the same text, live; or in history, at that time | nothing |
| the same statement in other words | it is touched |
| another object of the same subject and single-valued predicate; its opposite or denial | it ends |
| that it is so no longer | it ends, then |
| what an explicit correction names, or all that is known of its subject and attribute | it ends |
| a contradiction of which nothing says who is right | both stay, disputed |
| one side of a dispute again, as a correction | the other sides end |
| anything else, however similar | both stay |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from memory.comparing import (
    Candidate,
    begun,
    but_for_one,
    cosine,
    denied,
    excludes,
    gives_way,
    names,
    of_another_thing,
    over_since,
    same_turn,
    telling,
)
from memory.extracting import has_several
from memory.extracting.intervals import UNKNOWN
from memory.ids import new_id
from memory.index import UNREAD, plain
from pipeline.errors import AthenaError
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent

if TYPE_CHECKING:
    from memory.index import UserIndex

SAME_STATEMENT = 0.95  # cosine, with the same subject and predicate
SAME_MATTER = 0.8  # cosine of two statements of which one may contradict the other

_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)

Outcome = Literal["added", "known", "touched", "replaced", "disputed", "ended"]


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
            if known.disputed and candidate.corrects:
                self._resolve(known)
            else:
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
        if not (candidate.negated or candidate.ends):
            contradicted = self._with_other_sides(contradicted, new)
        until = over_since(candidate)
        ended = [old for old in contradicted if begun(old) <= until or gives_way(old, candidate)]
        later = [old for old in contradicted if old not in ended]
        if later and new.invalid_at is None:  # told afterwards: it was true until then
            new = replace(new, invalid_at=min(map(begun, later)))
        self._write("ADD", new)
        for old in ended:
            self._end(old, by=new, until=until)
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
            held = memory.invalid_at is not None and begun(memory) <= begun(new) < memory.invalid_at
            if held and not said_anew:
                return memory
            if 0 < candidate.said_at <= memory.created_at and begun(memory) <= begun(new):
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
            if (same_object or alike) and telling(old) == telling(new) and denied(old) == denied(new):
                return old
        return None

    def contradicted(self, candidate: Candidate) -> list[Memory]:
        """What can no longer be true once this is."""
        new = candidate.memory
        if not new.trusted:
            return []
        if candidate.replaces:
            named = [old for old in self._live(self.index.memories.values(), new) if names(old, candidate)]
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
        opposites = [old for old in same if excludes(candidate, old)]
        if candidate.single_valued and not candidate.negated:
            return [old for old in same if old in opposites or plain(old.object) != plain(new.object)]
        if candidate.corrects and not candidate.negated and not opposites:
            return self._meant(candidate, same)
        return opposites

    def _meant(self, candidate: Candidate, same: Sequence[Memory]) -> list[Memory]:
        """What an explicit correction is of, where its predicate may have several values.

        Of an attribute of the same subject; of words that no rule reads, what says the same but for one
        thing. Numbers stand for numbers: "my bunk is wet" is no correction of "my bunk is nr 4".
        """
        new = candidate.memory
        if new.predicate in UNREAD:
            unread = self._live(self._unread(new.subject), new)
            meant = [old for old in unread if old.predicate in UNREAD and but_for_one(old.text, new.text)]
        elif has_several(new.predicate):
            return []
        else:
            meant = [old for old in same if plain(old.object) != plain(new.object)]
        numbered = bool(_NUMBER.search(new.object))
        alike = [old for old in meant if bool(_NUMBER.search(old.object)) == numbered]
        return alike or (meant if numbered and len(meant) == 1 else [])

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
        return not any(same_turn(old, new) and begun(old) == begun(new) for old in contradicted)

    def _at_odds(self, candidate: Candidate) -> list[Memory]:
        """What is on the same matter, and differs in numbers, a "not" or a side."""
        new = candidate.memory
        if not new.trusted or candidate.corrects or new.kind != "fact":
            return []
        if new.predicate == "is":
            return self._other_numbers(new)
        if new.predicate not in UNREAD:
            return []
        stated = telling(new)
        return [
            old
            for old in self._live(self._unread(new.subject), new)
            if old.predicate in UNREAD
            and old.trusted
            and old.kind == "fact"
            and old.subject == new.subject
            and cosine(old, new) >= SAME_MATTER
            and telling(old) != stated
            and not of_another_thing(old, new)
        ]

    def _other_numbers(self, new: Memory) -> list[Memory]:
        """What says the same of a thing but for its numbers, in another message: "my bunk is number 4"."""
        return [
            old
            for old in self._live(self.index.about(new.subject, new.predicate), new)
            if (old.subject, old.predicate, old.kind) == (new.subject, new.predicate, new.kind)
            and old.trusted
            and plain(old.object) != plain(new.object)
            and _NUMBER.sub("#", plain(old.object)) == _NUMBER.sub("#", plain(new.object))
            and not same_turn(old, new)
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

    def _end(self, old: Memory, *, by: Memory, until: float) -> None:
        """The old one stays as history: it held until then."""
        expired = self.now if until <= self.now else None
        since = old.valid_at if begun(old) <= until else UNKNOWN
        ended = replace(old, valid_at=since, invalid_at=until, expired_at=expired)
        self._write("INVALIDATE", ended, other=by.id)

    def _with_other_sides(self, sides: Sequence[Memory], new: Memory) -> list[Memory]:
        """The same with all that they are disputed with: what is none of its sides ends the whole dispute."""
        disputes = {side.disputed for side in sides} - {""}
        if not disputes:
            return list(sides)
        live = self._live(self.index.memories.values(), new)
        others = [memory for memory in live if memory.disputed in disputes]
        return list({side.id: side for side in (*others, *sides)}.values())

    def _resolve(self, right: Memory) -> None:
        """The user says again which side is right: the others were wrong."""
        settled = resolved(self.index, right, now=self.now, believe=True)
        self.memories |= {memory.id: memory for memory in settled.memories}
        self.events += settled.events
        self.outcomes.append(("replaced", right.id))

    def _dispute(self, new: Memory, others: Sequence[Memory]) -> None:
        group = next((old.disputed for old in others if old.disputed), "") or new_id()
        for side in (new, *others):
            other = others[0].id if side is new else new.id
            action: Action = "DISPUTE" if side.id in self.memories or side is not new else "ADD"
            self._write(action, replace(side, disputed=group), other=other)
        self.outcomes.append(("disputed", new.id))


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
        end = {} if right else {"invalid_at": begun(side), "expired_at": now}
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
