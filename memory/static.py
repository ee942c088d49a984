"""Static memory: who the assistant is, as its persona says. It is read first and never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from memory.ids import id_of
from pipeline.errors import ConfigurationError
from pipeline.given_files import DATA_BYTES, read_given
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

    @property
    def memories(self) -> Path | None:
        """A JSON file with more of it: `documents`, `metadatas` and `ids`."""


def static_of(persona: HasStaticMemory, *, user: str) -> tuple[Memory, ...]:
    """The persona's static memories, the same ids each time; raises for a file that is none of them."""
    texts = tuple(
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
    return texts if persona.memories is None else (*texts, *_of_file(persona.memories, user=user))


def _of_file(path: Path, *, user: str) -> tuple[Memory, ...]:
    from memory.transfer import static_memories

    try:
        data = read_given(path, most_bytes=DATA_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"ATHENA_PERSONA: cannot read its memories '{path}': {error}.", "Check `memories` in its file."
        ) from error
    return tuple(
        replace(memory, why=WHY, pinned=True) for memory in static_memories(data, user=user, now=0.0)
    )
