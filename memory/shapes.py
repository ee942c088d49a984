"""Memories as JSON, for commands and routes alike. Keys may be added, never renamed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.recall import FoundMemory


class MemoryOut(BaseModel):
    """A memory; `ended_at` is null while it is valid, and the scores are null if no search found it."""

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
        """Return a found memory with its score, recency and relevance, rounded to 6 decimals."""
        scores = {name: round(getattr(it.recalled, name), 6) for name in ("score", "recency", "relevance")}
        return cls.model_validate(it.memory).model_copy(update=scores)
