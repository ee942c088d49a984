"""The upkeep of one user's memories: each is one write, decided on what is there by then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memory.comparing import Candidate
from memory.deciding import Deciding
from memory.edits import changeable
from memory.ids import new_id
from memory.index import plain
from memory.upkeep import planning, rating, reflecting, summarizing
from pipeline.errors import AthenaError
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversation


def rate(user: UserMemory, ids: Iterable[str] = ()) -> Sequence[Memory]:
    """Rate memories 1 to 10, all of them or some; those whose rating changed."""
    chosen = [changeable(user, given) for given in ids] or [
        memory for memory in user.list() if memory.tier != "static"
    ]
    found = rating.rated(chosen, now=user.clock(), complete=user.complete)
    values = {memory.id: memory for memory in found.memories}

    def decide(index: UserIndex) -> MemoryChanges:
        kept = [
            replace(index.memories[known], importance=memory.importance, why=memory.why)
            for known, memory in values.items()
            if known in index.memories
        ]
        return replace(found, memories=tuple(kept)) if kept else MemoryChanges()

    return user.indexes.change(user.user, decide).memories


def migrate(user: UserMemory) -> Sequence[Memory]:
    """Move what matters of too many short-term memories to long-term; what moved."""
    changes = user.indexes.change(user.user, partial(migrated, now=user.clock()))
    return [memory for memory in changes.memories if memory.tier == "long_term"]


def reflect(user: UserMemory) -> Sequence[Memory]:
    """Reflect on the latest memories; what came of it."""

    def recalled(question: str) -> Sequence[Memory]:
        return [found.memory for found in user.read(question)[0]]

    made = reflecting.reflect(user.index, complete=user.complete, recall=recalled)
    if made is None:
        return []
    return _made(user, reflecting.as_memory(made, user=user.user, now=user.clock()))


def plan(user: UserMemory) -> Sequence[Memory]:
    """Plan the rest of the day; the plan takes the place of the one before. Raises without a model."""
    chosen, at = planning.matters_most(user.index), user.clock()
    if not chosen:
        raise AthenaError(
            "There is nothing to plan from.", f"A plan rests on memories above {planning.LEAST}."
        )
    goals = planning.make_plan(chosen, complete=user.complete, now=at, zone=user.zone)
    return _made(user, planning.as_memory(goals, chosen, user=user.user, now=at))


def summarize(user: UserMemory) -> Sequence[Memory]:
    """Put two lines in the place of the five memories that matter least; the summary, if there is one."""
    chosen = summarizing.least_important(user.index)
    if not chosen:
        return []
    text = summarizing.two_lines(chosen, complete=user.complete)
    changes = summarizing.summarized(chosen, text, now=user.clock(), embed=user.indexes.embedded)

    def decide(index: UserIndex) -> MemoryChanges:
        same = all(index.memories.get(memory.id) == memory for memory in chosen)
        return changes if same else MemoryChanges()

    return user.indexes.change(user.user, decide).memories[:1]


def summarize_conversation(user: UserMemory, conversation: Conversation) -> Sequence[Memory]:
    """Keep a past conversation in at most 50 words, its topics as tags; longer again, it is replaced."""
    made = summarizing.conversation_summary(
        conversation, user=user.user, now=user.clock(), complete=user.complete
    )
    return _made(user, made) if made else []


def _made(user: UserMemory, memory: Memory) -> Sequence[Memory]:
    """Keep what was made of other memories, in the place of what was made like it before."""
    [memory] = user.indexes.embedded([memory])

    def decide(index: UserIndex) -> MemoryChanges:
        if any(source.memory_id not in {"", *index.memories} for source in memory.sources):
            return MemoryChanges()  # of something that was forgotten while this was made
        deciding = Deciding(index, user.clock())
        deciding.decide(Candidate(memory=memory, single_valued=True))
        return deciding.changes

    written = user.indexes.change(user.user, decide).memories
    return [item for item in written if item.id == memory.id]


KEPT = 10  # short-term memories
LEAST = 0.3  # importance of what moves


def migrated(index: UserIndex, *, now: float) -> MemoryChanges:
    """Where there are more than ten short-term memories, the oldest leave: in one write, under their ids.

    Those at least .3 important become long-term; the others expire, but for pinned ones. One that is known
    for long ends as the same.
    """
    short = [item for item in index.memories.values() if item.tier == "short_term" and item.live]
    short.sort(key=lambda item: (item.created_at, item.id))
    written: list[Memory] = []
    events: list[MemoryEvent] = []

    def write(action: Action, memory: Memory, other: str = "") -> None:
        written.append(memory)
        events.append(
            MemoryEvent(
                id=new_id(), user=memory.user, memory_id=memory.id, action=action, at=now, other_id=other
            )
        )

    known = {
        plain(item.text): item for item in index.memories.values() if item.tier == "long_term" and item.live
    }
    for memory in short[: max(0, len(short) - KEPT)]:
        same = known.get(plain(memory.text))
        if same is not None:
            write("EVICT", replace(memory, expired_at=now), same.id)
        elif memory.pinned or memory.importance is None or memory.importance >= LEAST:
            write("MIGRATE", replace(memory, tier="long_term"))
        else:
            write("EVICT", replace(memory, expired_at=now))
    return MemoryChanges(memories=tuple(written), events=tuple(events))
