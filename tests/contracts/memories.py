"""Memories for tests, and what scans a data folder for what should be gone."""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.stores.memories import Memories, Memory, MemoryChanges, UserMemories


def embedding(seed: int, *, dimensions: int = 384) -> bytes:
    """A vector of unit length."""
    values = [math.sin(seed + position) for position in range(dimensions)]
    norm = math.sqrt(sum(value * value for value in values))
    return struct.pack(f"<{dimensions}f", *(value / norm for value in values))


def memory(text: str = "The fan hums.", *, user: str = "ann", **given: Any) -> Memory:
    """A memory with an id of its own."""
    known: dict[str, Any] = {"id": str(uuid.uuid4()), "created_at": 1.0}
    return Memory(user=user, text=text, **known | given)


def texts(loaded: UserMemories) -> list[str]:
    """What the memories say."""
    return [row.text for row in loaded.memories]


def adding(*rows: Memory, **given: Any) -> MemoryChanges:
    """Changes that write these memories."""
    return MemoryChanges(memories=rows, **given)


def applied(memories: Memories, user: str, changes: MemoryChanges) -> int:
    """Write changes to a user's rows as they are now, and return the version."""
    return memories.apply(user, changes, expected=memories.load(user).version)


def forgotten(
    memories: Memories,
    user: str,
    changes: MemoryChanges,
    *,
    turns: Sequence[str],
    expected: int | None = None,
) -> None:
    """Write changes, delete turns, and erase every byte of what was removed."""
    if expected is None:
        expected = memories.load(user).version
    memories.apply(user, replace(changes, removed_turns=tuple(turns)), expected=expected, erase=True)


def found_in_files(folder: Path, words: Sequence[str]) -> list[str]:
    """Which words are in which file of a folder, as bytes."""
    return [
        f"{word} in {path.name}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for word in words
        if word.encode() in path.read_bytes()
    ]
