"""Static memory: who the assistant is, as its persona says. It is read first and never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from memory.ids import id_of
from pipeline.errors import ConfigurationError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.stores.memories import Memory

WHY = "The assistant's persona says it."


def static_of(
    persona: str, says: Mapping[str, Sequence[str]], more: Path | None, *, user: str
) -> tuple[Memory, ...]:
    """The static memories of a persona, the same ids each time: what it says under each tag.

    A JSON file may have `more` of it: `documents`, `metadatas` and `ids`; raises for a file that is none.
    """
    texts = tuple(
        Memory(
            id=id_of("persona", persona, tag, text),
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
        for tag, texts in says.items()
        for text in texts
    )
    return texts if more is None else (*texts, *_of_file(more, user=user))


def _of_file(path: Path, *, user: str) -> tuple[Memory, ...]:
    from memory.transfer import read_import

    try:
        data = read_given(path, most_bytes=DATA_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"ATHENA_PERSONA: cannot read its memories '{path}': {error}.", "Check `memories` in its file."
        ) from error
    return tuple(
        replace(memory, why=WHY, pinned=True) for memory in read_import(data, user=user, now=0.0).memories
    )
