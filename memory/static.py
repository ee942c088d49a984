"""Static memory: who the assistant is, as its persona says. It is read first and never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memory.ids import id_of
from pipeline.stores.memories import Memory

WHY = "The assistant's persona says it."


class HasStaticMemory(Protocol):
    """A persona with static memory."""

    @property
    def name(self) -> str:
        """What the assistant is called."""

    @property
    def identity(self) -> Sequence[str]:
        """Who it is."""

    @property
    def goals(self) -> Sequence[str]:
        """What it is for."""

    @property
    def rules(self) -> Sequence[str]:
        """What it keeps to."""

    @property
    def environment(self) -> Sequence[str]:
        """Where it is."""


def static_of(persona: HasStaticMemory, *, user: str) -> tuple[Memory, ...]:
    """The persona's static memories, the same ids each time."""
    return tuple(
        Memory(
            id=id_of("persona", persona.name, tag, text),
            user=user,
            text=text,
            tier="static",
            origin="system",
            tags=(tag,),
            importance=1.0,
            pinned=True,
            why=WHY,
            predicate=tag,
        )
        for tag in ("identity", "goals", "rules", "environment")
        for text in getattr(persona, tag)
    )
