"""The protocol `Memories`, kept in dictionaries; an encoder that needs no model; and a model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import analyse
from pipeline.errors import MemoriesChanged
from pipeline.stores.memories import MemoryChanges, UserMemories

COMMON = {"the", "a", "is", "of", "on", "has", "what", "which", "that", "i", "my", "do", "to"}


class FakeMemories:
    """All in the process; a hook is called once before a write or after a read, as another writer would."""

    def __init__(self) -> None:
        self.of: dict[str, UserMemories] = {}
        self.deleted: set[str] = set()
        self.before_apply: Callable[[], None] = lambda: None
        self.after_load: Callable[[], None] = lambda: None
        self.rests_on: list[tuple[str, ...]] = []  # of each write

    def load(self, user: str, *, since: int = 0) -> UserMemories:
        known = self.of.get(user, UserMemories(user=user, version=0))
        hook, self.after_load = self.after_load, lambda: None
        hook()
        return UserMemories(user=user, version=since) if known.version == since else known

    def apply(self, user: str, changes: MemoryChanges, *, expected: int, erase: bool = False) -> int:
        hook, self.before_apply = self.before_apply, lambda: None
        hook()
        known = self.of.get(user, UserMemories(user=user, version=0))
        if expected != known.version:
            raise MemoriesChanged("Somebody else was first.")
        rows = {}
        for name in ("memories", "entities", "mentions", "relations"):
            merged = {row.id: row for row in (*getattr(known, name), *getattr(changes, name))}
            assert all(row.user == user for row in merged.values())
            rows[name] = tuple(row for key, row in merged.items() if key not in changes.removed)
        live = [(memory.tier, memory.text) for memory in rows["memories"] if memory.live]
        assert len(live) == len(set(live)), "the same text is there twice"
        self.of[user] = replace(known, version=known.version + 1, **rows)
        self.deleted |= set(changes.removed_turns)
        self.rests_on.append(changes.rests_on)
        return known.version + 1


class FakeEncoder:
    """A text's vector is made of its terms: the more terms two texts share, the nearer they are."""

    name = "fake"
    fingerprint = ""
    dimensions = 8192
    max_tokens = 256

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def opening(self, text: str) -> str:
        return text

    def encode_query(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dimensions, 1e-6, dtype=np.float32)
        for term in set(analyse(text)) - COMMON:
            vector[int(hashlib.md5(term.encode()).hexdigest(), 16) % self.dimensions] += 1
        return vector / np.linalg.norm(vector)

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        return np.stack([self.encode_query(text) for text in texts])


class FakeModel:
    """Gives its replies in order, and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    def __call__(self, prompt: str, *, schema: Mapping[str, Any] | None = None) -> str:
        self.prompts.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply
