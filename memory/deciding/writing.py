"""Changes of memories, each with the event that says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

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

    def dispute(self, sides: Iterable[Memory]) -> None:
        """All of them as sides of one dispute, the first as what the others are disputed by."""
        first, *others = sides
        group = next((side.disputed for side in (first, *others) if side.disputed), "") or new_id()
        for side in (first, *others):
            self.write(
                "DISPUTE",
                replace(side, disputed=group),
                other=others[0].id if side is first else first.id,
            )

    @property
    def changes(self) -> MemoryChanges:
        """All of it, as one write."""
        return MemoryChanges(memories=tuple(self.memories.values()), events=tuple(self.events))
