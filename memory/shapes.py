"""Memories and turns as JSON, for commands and routes alike. Keys may be added, never renamed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.recall import FoundMemory
    from memory.turn_index import Turn


class MemoryOut(BaseModel):
    """A memory; `ended_at` is null while it is valid, and a score where it was not searched for."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: str
    text: str
    tier: str
    kind: str
    origin: str
    importance: float | None
    why: str
    subject: str
    predicate: str
    object: str
    success: bool | None
    pinned: bool
    trusted: bool
    created_at: datetime
    ended_at: datetime | None
    replaced_by: str
    accessed_at: datetime | None
    accesses: int
    sources: tuple[MemorySource, ...]
    score: float | None = None
    recency: float | None = None
    relevance: float | None = None

    @classmethod
    def found(cls, it: FoundMemory) -> Self:
        """Return a found memory with its score and the parts of that."""
        scores = {name: round(getattr(it.recalled, name), 6) for name in ("score", "recency", "relevance")}
        return cls.model_validate(it.memory).model_copy(update=scores)


class SaidOut(BaseModel):
    """A message of a conversation, with its score where it was searched for."""

    id: str
    kind: str = "turn"
    text: str
    speaker: str
    conversation_id: str
    created_at: datetime
    score: float | None = None

    @classmethod
    def of(cls, turn: Turn, *, score: float | None = None) -> Self:
        """Return the shape of a turn."""
        said = {"speaker": turn.speaker or turn.role, "conversation_id": turn.session, "created_at": turn.at}
        return cls(id=turn.id, text=turn.text, score=score and round(score, 6), **said)
