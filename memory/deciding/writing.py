"""Changes of memories, each with the event that says so."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory.ids import new_id
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent


@dataclass(slots=True)
class Writing:
    """What is to be written at one time."""

    now: float
    memories: dict[str, Memory] = field(default_factory=dict)  # by id, as they will be
    events: list[MemoryEvent] = field(default_factory=list)

    def write(self, action: Action, memory: Memory, *, other: str = "") -> None:
        """One memory as it will be, and why: with the id of the `other` that it has to do with."""
        self.memories[memory.id] = memory
        self.note(action, memory.id, user=memory.user, other=other)

    def note(self, action: Action, memory_id: str, *, user: str, other: str = "") -> None:
        """An event alone."""
        self.events.append(
            MemoryEvent(
                id=new_id(), user=user, memory_id=memory_id, action=action, at=self.now, other_id=other
            )
        )

    @property
    def changes(self) -> MemoryChanges:
        """All of it, as one write."""
        return MemoryChanges(memories=tuple(self.memories.values()), events=tuple(self.events))
