"""What upkeep makes of memories: it names what it was made of, and goes with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memory.ids import new_id
from pipeline.stores.memories import Memory, MemorySource

if TYPE_CHECKING:
    from memory.user_memory import UserMemory


def believed(user: UserMemory) -> list[Memory]:
    """The memories that something may be made of."""
    known = list(user.index.memories.values())
    return [item for item in known if item.live and item.trusted and not item.stale]


def made_of(user: UserMemory, memories: Iterable[Memory], **given: Any) -> Memory:
    """A memory that rests on others, each once."""
    at = user.clock()
    rests_on = dict.fromkeys(memory.id for memory in memories)
    sources = tuple(MemorySource(memory_id=known) for known in rests_on)
    values: dict[str, Any] = {"id": new_id(), "valid_at": at, "sources": sources} | given
    return Memory(user=user.user, origin="system", created_at=at, **values)


def listed(memories: Iterable[Memory]) -> str:
    """The memories as lines of a prompt."""
    return "\n".join(f"- {' '.join(memory.text.split())}" for memory in memories)
