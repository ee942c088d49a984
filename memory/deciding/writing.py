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
        about = {"user": memory.user, "memory_id": memory.id, "other_id": other}
        self.events.append(MemoryEvent(id=new_id(), action=action, at=self.now, **about))

    def dispute(self, sides: Iterable[Memory]) -> None:
        """All of them as sides of one dispute, the first as what the others are disputed by."""
        first, *others = sides
        group = next((side.disputed for side in (first, *others) if side.disputed), "") or new_id()
        for side, other in ((first, others[0]), *((side, first) for side in others)):
            self.write("DISPUTE", replace(side, disputed=group), other=other.id)

    @property
    def changes(self) -> MemoryChanges:
        """All of it, as one write."""
        return MemoryChanges(memories=tuple(self.memories.values()), events=tuple(self.events))
