"""From short-term to long-term memory: what matters moves, what does not expires."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.ids import new_id
from memory.index import plain
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent

if TYPE_CHECKING:
    from memory.index import UserIndex

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
