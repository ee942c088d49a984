"""Disputes: what is kept on both sides, until the user decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.comparing import begun
from memory.ids import new_id
from pipeline.errors import AthenaError
from pipeline.stores.memories import Action, Memory, MemoryChanges, MemoryEvent

if TYPE_CHECKING:
    from memory.index import UserIndex


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
