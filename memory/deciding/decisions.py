"""What becomes of a new memory, by rule: kept, known already, in the place of another, or disputed.

| what is there | what happens |
|---|---|
| the same text, live; or in history, at that time | nothing |
| the same subject, predicate and object in other words | it is touched |
| another object of the same subject and single-valued predicate; its denial | it ends |
| that it is so no longer | it ends, then |
| what an explicit correction names, or what is known of its subject and attribute | it ends |
| a contradiction of which nothing says who is right | both stay, disputed |
| one side of a dispute again, as a correction | the other sides end |
| anything else, however similar | both stay |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from memory.deciding.naming import canonical, same_as
from memory.deciding.writing import Writing
from memory.ids import plain
from memory.reading.intervals import UNKNOWN, validity_of
from memory.reading.objects import stems, words_of_thing
from memory.reading.records import USER, Statement
from memory.reading.rules import UNREAD, has_several, single_valued
from memory.times import begun
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex

GIVEN_UP = ("owns", "uses", "prefers", "preferred ", "works on", "studies", "diet")  # predicates

_NUMBER = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)

_OF_USER = re.compile(r"(?:i|we|my|our)\b", re.IGNORECASE)

Outcome = Literal["added", "known", "touched", "replaced", "disputed", "ended"]


@dataclass(slots=True, kw_only=True)
class Deciding(Writing):
    """Decisions on one user's memories, taken one after the other, as one set of changes."""

    index: UserIndex
    outcomes: list[tuple[Outcome, str]] = field(default_factory=list)  # with ids of memories
    wrong: list[Memory] = field(default_factory=list)  # what was put right: it was never so
    _names: Sequence[str] = ()  # of the subject at hand

    def decide(self, new: Memory, said: Statement) -> None:
        """Decide on one more: a memory, and what its words say of others."""
        if new.predicate != "name":
            new = replace(new, subject=canonical(self.index, new.subject))
        self._names = same_as(self.index, new.subject, said.role)
        if said.planned and said.negated:
            self._cancel(new)
            if not said.asked_for:
                return
        same = self._said_before(new, said)
        known = same or self._reworded(new, said)
        if known and known.disputed and said.corrects:  # the user says again which side is right
            settle(self, self.index, known, believe=True)
            self.outcomes.append(("replaced", known.id))
            return
        if known and not same:
            self.write("TOUCH", replace(known, accessed_at=self.now, accesses=known.accesses + 1))
        if known:
            self.outcomes.append(("known" if same else "touched", known.id))
            return
        contradicted = self.contradicted(new, said)
        if contradicted and ((said.replaces and len(contradicted) == 1) or not new.predicate):
            new = replace(new, subject=contradicted[0].subject, predicate=contradicted[0].predicate)
        if contradicted and not self._decides(new, said, contradicted):
            self._dispute(new, contradicted)
            return
        if not (said.negated or said.ends):
            contradicted = self._with_other_sides(contradicted, new)
        self._put(new, said, contradicted)

    def _put(self, new: Memory, said: Statement, contradicted: Sequence[Memory]) -> None:
        """Keep a new one in the place of what it contradicts, each for as long as it holds."""
        # "I moved to Bergen" says it by when it begins, "I no longer live in Oslo" by when it ends
        until = new.invalid_at if said.ends and new.invalid_at is not None else begun(new)
        ended = [
            old
            for old in contradicted
            if begun(old) <= until or gives_way(old, new, said) or self._fulfils(new, old)
        ]
        later = [old for old in contradicted if old not in ended]
        if later and new.invalid_at is None:  # told afterwards: it was true until then
            new = replace(new, invalid_at=min(map(begun, later)))
        if said.ends and said.only_of_known and not contradicted:  # asked for: that it is over is to be kept
            new = replace(new, subject="", predicate="note", object=new.text, valid_at=until, invalid_at=None)
        self.write("ADD", new)
        for old in ended:
            self._end(old, by=new, until=until)
        if said.corrects:
            self.wrong += ended
        self.outcomes.append(("replaced" if ended else "added", new.id))

    def _cancel(self, new: Memory) -> None:
        """What was planned is not to be: what it would have ended goes on."""
        for old in self._same(new):
            if begun(old) > self.now and same_thing(old.object, new.object):
                self.write("INVALIDATE", replace(old, invalid_at=begun(old), expired_at=self.now))
                self.outcomes.append(("ended", old.id))
            elif old.invalid_at is not None:
                self.write("UPDATE", replace(old, invalid_at=None))

    def ids(self, *outcomes: Outcome) -> tuple[str, ...]:
        """The memories of which this became."""
        return tuple(known for outcome, known in self.outcomes if outcome in outcomes)

    # -- what is there ----------------------------------------------------------------------------------

    def _live(self, new: Memory, found: Iterable[Memory] | None = None) -> list[Memory]:
        """Those of the found, or of all, and of the added that are believed and not over."""
        found = self.index.memories.values() if found is None else found
        others = ({memory.id: memory for memory in found} | self.memories | {new.id: new}).values()
        return [old for old in others if old is not new and old.tier != "static" and holds(old, self.now)]

    def _same(self, new: Memory) -> list[Memory]:
        """What is believed of the same predicate and subject, under whichever of its names."""
        about = [old for name in self._names for old in self.index.about(name, new.predicate)]
        live = self._live(new, about)
        return [old for old in live if old.subject in self._names and old.predicate == new.predicate]

    def _said_before(self, new: Memory, said: Statement) -> Memory | None:
        """The memory that says the same, live, or true when this was said; or that was made of it already."""
        same = {memory.id: memory for memory in self.index.with_text(new.text)}
        same |= {key: item for key, item in self.memories.items() if plain(item.text) == plain(new.text)}
        for memory in same.values():
            memory = self.memories.get(memory.id, memory)
            if memory.expired_at is None and memory.invalid_at is None:
                return memory
            said_anew = memory.expired_at is not None and said.said_at > memory.expired_at
            held = memory.invalid_at is not None and begun(memory) <= begun(new) < memory.invalid_at
            if held and not said_anew:
                return memory
            if 0 < said.said_at <= memory.created_at and begun(memory) <= begun(new):
                return memory
        return None

    def _reworded(self, new: Memory, said: Statement) -> Memory | None:
        same = [] if new.predicate in UNREAD or said.ends else self._same(new)
        for old in same:
            alike = (plain(old.object), old.trusted, denied(old)) == (
                plain(new.object),
                new.trusted,
                denied(new),
            )
            if alike and not self._fulfils(new, old):
                return old
        return None

    def contradicted(self, new: Memory, said: Statement) -> list[Memory]:
        """What can no longer be true once this is."""
        if not new.trusted:
            return []
        self._names = self._names or same_as(self.index, new.subject, said.role)
        if said.instead_of:
            wrong = (said.instead_of, new.predicate, plain(new.object))
            about = self._live(new, self.index.about(said.instead_of, new.predicate))
            return [old for old in about if (old.subject, old.predicate, plain(old.object)) == wrong]
        if said.replaces:
            named = [old for old in self._live(new) if names(old, new, said)]
            if named or not (said.corrects and new.predicate):
                return named
        if not new.predicate:
            return self._whatever(new) if said.ends else []
        same = self._same(new)
        if said.ends and not new.object:  # "I quit": whatever it was
            jobs = self._same(replace(new, predicate="job")) if new.predicate == "employer" else []
            return [*same, *jobs]
        if said.ends:
            return [old for old in same if same_thing(old.object, new.object)]
        denials = [old for old in same if excludes(new, said, old)]
        if said.negated:
            return denials
        if single_valued(new.predicate):
            apart = [old for old in same if plain(old.object) != plain(new.object) or self._fulfils(new, old)]
        else:
            apart = [old for old in same if _but_for_numbers(old, new) and not same_turn(old, new)]
            if said.corrects and not (apart or denials):
                return self._meant(new, same)
        return [*apart, *(old for old in denials if old not in apart)]

    def _whatever(self, new: Memory) -> list[Memory]:
        """What is had, used or done of the one thing that is over: "sold the car", "stopped smoking"."""
        live = self._live(new)
        called = [old for old in live if old.predicate == "name" and plain(old.object) == plain(new.object)]
        if called and new.subject == USER:  # "Rex died" is of the dog
            new = replace(new, object=called[0].subject.removeprefix(f"{USER}'s "))
        over = [old for old in live if self._may_end(old, new) and _is_of(new.object, old)]
        if any(not same_thing(one.object, other.object) for one, other in combinations(over, 2)):
            over = [old for old in over if words_of_thing(old.object) == words_of_thing(new.object)]
        head = (new.object.split() or [""])[-1].casefold()
        of_it = [old for old in live if old.subject == f"{USER}'s {head}" and new.subject == USER]
        return [*over, *(old for old in of_it if old.predicate in ("is", "name", "age"))]

    def _may_end(self, old: Memory, new: Memory) -> bool:
        """Whether a memory is of something that its subject may have or do no longer."""
        if old.predicate == "note":
            return new.subject == USER and _OF_USER.match(old.object) is not None
        return old.subject in self._names and old.predicate.startswith(GIVEN_UP)

    def _fulfils(self, new: Memory, old: Memory) -> bool:
        """Whether what was planned is so now."""
        return begun(old) > self.now >= begun(new) and plain(old.object) == plain(new.object)

    def _meant(self, new: Memory, same: Sequence[Memory]) -> list[Memory]:
        """What an explicit correction of an attribute is of, where that may have several values.

        Numbers stand for numbers: "my bunk is wet" is no correction of "my bunk is nr 4".
        """
        numbered = _NUMBER.search(new.object) is not None
        others = [old for old in same if plain(old.object) != plain(new.object)]
        alike = [old for old in others if numbered == (_NUMBER.search(old.object) is not None)]
        corrected = alike or (others if numbered and len(others) == 1 else [])
        return [] if new.predicate in UNREAD or has_several(new.predicate) else corrected

    def _decides(self, new: Memory, said: Statement, contradicted: Sequence[Memory]) -> bool:
        """Whether a rule says that the new one is right: a later word of the same kind of speaker."""
        if new.origin != "user" and any(old.origin == "user" for old in contradicted):
            return False
        if said.replaces:
            return len({(old.subject, old.predicate) for old in contradicted}) == 1
        if said.corrects and not single_valued(new.predicate):
            return len(contradicted) == 1
        if said.corrects or said.ends or said.negated:
            return True
        return not any(
            _but_for_numbers(old, new) or (same_turn(old, new) and begun(old) == begun(new))
            for old in contradicted
        )

    # -- what is written ----------------------------------------------------------------------------------

    def _end(self, old: Memory, *, by: Memory, until: float) -> None:
        """The old one stays as history: it held until then; what was only planned never did."""
        if begun(old) > self.now:
            self.write("INVALIDATE", replace(old, invalid_at=begun(old), expired_at=self.now), other=by.id)
            return
        expired = self.now if until <= self.now else None
        since = old.valid_at if begun(old) <= until else UNKNOWN
        ended = replace(old, valid_at=since, invalid_at=until, expired_at=expired)
        self.write("INVALIDATE", ended, other=by.id)

    def _with_other_sides(self, sides: Sequence[Memory], new: Memory) -> list[Memory]:
        """The same with all that they are disputed with: what is none of its sides ends the whole dispute."""
        disputes = {side.disputed for side in sides} - {""}
        live = self._live(new) if disputes else ()
        others = [side for side in live if side.disputed in disputes]
        return [*others, *(side for side in sides if side not in others)]

    def _dispute(self, new: Memory, others: Sequence[Memory]) -> None:
        self.write("ADD", new)
        self.dispute((new, *others))
        self.outcomes.append(("disputed", new.id))


def sides_of(index: UserIndex, memory: Memory) -> list[Memory]:
    """All sides of a memory's dispute, itself among them; none where there is no dispute."""
    with index.lock:
        return [
            side for side in index.memories.values() if memory.disputed and side.disputed == memory.disputed
        ]


def settle(writing: Writing, index: UserIndex, keep: Memory, *, believe: bool | None) -> None:
    """Decide a dispute: `keep` is right and the others are wrong, only `keep` is wrong, or (None) none is.

    Where several others are left, these are still disputed. Raises `AthenaError` where there is no dispute.
    """
    sides = sides_of(index, keep)
    if not sides:
        raise AthenaError(f"Memory '{keep.id}' is not disputed.", "There is nothing to decide.")
    for side in sides:
        other = keep.id if side.id != keep.id else ""
        if believe is not None and (side.id == keep.id) != believe:
            wrong = replace(side, disputed="", invalid_at=begun(side), expired_at=writing.now)
            writing.write("INVALIDATE", wrong, other=other)
        elif believe is not False or len(sides) <= 2:
            writing.write("RESOLVE", replace(side, disputed=""), other=other)


_DENIES = re.compile(
    r"\b(?:not|never|cannot|no longer|hates?|dislikes?|detests?|loathes?|despises?)\b"
    r"|\b(?:do|does|is|are|am|was|were|ca|have|has)n['’]?t\b",
    re.I,
)


def holds(memory: Memory, now: float) -> bool:
    """Whether a memory is believed, and not over."""
    return memory.expired_at is None and (memory.invalid_at is None or memory.invalid_at > now)


def same_thing(one: str, other: str) -> bool:
    """Whether two objects are one thing, the one told in more words: "the car" and "a red Skoda"."""
    first, second = words_of_thing(one), words_of_thing(other)
    return bool(first and second) and (first <= second or second <= first)


def _is_of(thing: str, old: Memory) -> bool:
    """Whether all words for what is over are of a memory, and a note begins with one of them."""
    words, known = set(stems(thing)), stems(old.object)
    if old.predicate == "note":
        return bool(known) and known[0] in words and words <= set(known)
    of_kind = words_of_thing(old.object)
    return bool(words & of_kind) and words <= of_kind | set(stems(old.predicate))


def _but_for_numbers(old: Memory, new: Memory) -> bool:
    """Whether both say the same of a thing but for its numbers: "my bunk is number 4"."""
    one, other = (_NUMBER.sub("#", plain(memory.object)) for memory in (old, new))
    return new.predicate == "is" and "#" in one and one == other and plain(old.object) != plain(new.object)


def denied(memory: Memory) -> bool:
    """Whether a statement says that its object is not so."""
    return _DENIES.search(memory.text) is not None


def excludes(new: Memory, said: Statement, old: Memory) -> bool:
    """Whether one of two statements of a subject and a predicate denies the other."""
    alike = (said.negated or denied(new)) == denied(old)
    same = same_thing(old.object, new.object) if said.negated else plain(old.object) == plain(new.object)
    return (same or (said.negated and not new.object)) and not alike


def gives_way(old: Memory, new: Memory, said: Statement) -> bool:
    """Whether something said without a date yields to what is said later, from whenever that holds until now.

    "I live in Oslo", then "I moved to Bergen in March", or that it ended then: Oslo is over since March.
    """
    undated = validity_of(old.text, said_at=old.created_at).start is None
    told_later = 0 < begun(old) <= said.said_at and not same_turn(old, new)
    return undated and told_later and (said.ends or new.invalid_at is None)


def names(old: Memory, new: Memory, said: Statement) -> bool:
    """Whether a memory is what a correction calls wrong."""
    wrong = plain(said.replaces)
    if new.predicate and (old.subject, old.predicate) != (new.subject, new.predicate):
        return False
    if plain(old.object) == wrong or (new.predicate == "owns" and _is_of(said.replaces, old)):
        return True
    return old.predicate in UNREAD and bool(re.search(rf"(?<!\w){re.escape(wrong)}(?!\w)", plain(old.text)))


def same_turn(one: Memory, other: Memory) -> bool:
    """Whether two memories were said in one message."""
    turns = {source.turn_id for source in one.sources if source.turn_id}
    return bool(turns & {source.turn_id for source in other.sources if source.turn_id})
