"""The upkeep of one user's memories: each is one write, decided on what is there by then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.deciding import made
from memory.deciding.candidates import WAS_ASKED_FOR
from memory.deciding.decisions import Deciding
from memory.deciding.edits import changeable
from memory.deciding.made import believed, made_of
from memory.deciding.writing import Writing
from memory.ids import plain
from memory.reading.records import Statement
from memory.reading.rules import Importance
from pipeline.errors import ModelError
from pipeline.stores.memories import Memory, MemoryChanges

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex
    from memory.user_memory import UserMemory

KEPT = 10  # short-term memories
LEAST = 0.3  # importance of what moves to long-term memory
REFLECTION_IMPORTANCE = 0.6


def rate(
    user: UserMemory, ids: Iterable[str] = (), *, go_on: Callable[[], None] = lambda: None
) -> Sequence[Memory]:
    """Rate memories 1 to 10, all of them or some; those whose rating changed.

    Rules know no better than who asked for a memory to be kept. `go_on` is called before each and may raise.
    """

    def rated(text: str) -> Importance:
        go_on()
        return made.rate(text, complete=complete)

    chosen = [changeable(user, given) for given in ids] or [
        memory for memory in user.list() if memory.tier != "static"
    ]
    complete = user.complete
    ratings = {
        memory.id: rated(memory.text)
        for memory in chosen
        if complete is not None or memory.why != WAS_ASKED_FOR
    }

    def decide(index: UserIndex) -> MemoryChanges:
        writing = Writing(user.clock())
        for known, found in ratings.items():
            if memory := index.memories.get(known):
                after = replace(memory, importance=found.rating / 10, why=found.explanation)
                if after != memory:
                    writing.write("UPDATE", after)
        return writing.changes

    return user.indexes.change(user.user, decide).memories


def migrate(user: UserMemory) -> Sequence[Memory]:
    """Where there are more than ten short-term memories, the oldest leave; those that moved.

    Those at least .3 important become long-term under their ids; the others expire, but for pinned ones. One
    that is known for long ends as the same.
    """

    def decide(index: UserIndex) -> MemoryChanges:
        live = [item for item in index.memories.values() if item.live]
        known = {plain(item.text): item for item in live if item.tier == "long_term"}
        short = sorted(
            (item for item in live if item.tier == "short_term"), key=lambda item: (item.created_at, item.id)
        )
        writing = Writing(user.clock())
        for memory in short[: max(0, len(short) - KEPT)]:
            same = known.get(plain(memory.text))
            if same is None and (memory.pinned or memory.importance is None or memory.importance >= LEAST):
                writing.write("MIGRATE", replace(memory, tier="long_term"))
            else:
                expired = replace(memory, expired_at=writing.now)
                writing.write("EVICT", expired, other=same.id if same else "")
        return writing.changes

    changes = user.indexes.change(user.user, decide)
    return [memory for memory in changes.memories if memory.tier == "long_term"]


def reflect(user: UserMemory) -> Sequence[Memory]:
    """Reflect on the latest memories; what came of it."""

    def recalled(question: str) -> Sequence[Memory]:
        return [found.memory for found in user.read(question)[0]]

    memories, complete = made.latest(believed(user)), user.complete
    if not memories or complete is None:
        return []
    try:
        text, rests_on = made.reflect(memories, complete=complete, recall=recalled)
    except ModelError:
        return []
    if not text:
        return []
    new = made_of(
        user,
        rests_on,
        text=text,
        kind="reflection",
        importance=REFLECTION_IMPORTANCE,
        why="It is a reflection on what you said.",
        subject="reflection",
        predicate="insight",
        object=text,
    )
    return _kept(user, new)


def plan(user: UserMemory) -> Sequence[Memory]:
    """Plan the rest of the day; the plan takes the place of the one before. Raises without a model."""
    chosen = made.matters_most(believed(user))
    text = made.make_plan(chosen, complete=user.complete, now=user.clock(), zone=user.zone)
    new = made_of(
        user,
        chosen,
        text=text,
        kind="plan",
        importance=chosen[0].importance,
        why="It is the plan for today.",
        subject="plan",
        predicate="today",
        object=text,
    )
    return _kept(user, new)


def summarize(user: UserMemory) -> Sequence[Memory]:
    """Put two lines in the place of the five memories that matter least, with their mean importance."""
    chosen = made.least_important(believed(user))
    if not chosen:
        return []
    new = made_of(
        user,
        chosen,
        text=made.two_lines(chosen, complete=user.complete),
        kind="summary",
        importance=round(sum(map(made.importance, chosen)) / len(chosen), 6),
        why="It stands for memories that matter least.",
        tags=tuple(dict.fromkeys(item.predicate for item in chosen if item.predicate)),
        valid_at=min(item.created_at for item in chosen),
    )
    [new] = user.indexes.embedded([new])

    def decide(index: UserIndex) -> MemoryChanges:
        writing = Writing(new.created_at)
        if all(index.memories.get(memory.id) == memory for memory in chosen):
            writing.write("ADD", new)
            for memory in chosen:
                writing.write("EVICT", replace(memory, expired_at=writing.now), other=new.id)
        return writing.changes

    return user.indexes.change(user.user, decide).memories[:1]


def _kept(user: UserMemory, memory: Memory) -> Sequence[Memory]:
    """Keep what was made of other memories, in the place of what was made like it before."""
    [memory] = user.indexes.embedded([memory])

    def decide(index: UserIndex) -> MemoryChanges:
        if any(source.memory_id not in {"", *index.memories} for source in memory.sources):
            return MemoryChanges()  # of something that was forgotten while this was made
        deciding = Deciding(index=index, now=user.clock())
        deciding.decide(
            memory, Statement(subject=memory.subject, predicate=memory.predicate, object=memory.object)
        )
        return deciding.changes

    written = user.indexes.change(user.user, decide).memories
    return [item for item in written if item.id == memory.id]
