"""The users' indexes in this process: each as new as the store, whoever wrote to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.recalling.user_index import UserIndex, embedded_text
from pipeline.errors import MemoriesChanged, StoreError
from pipeline.stores.memories import Memories, Memory, MemoryChanges

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipeline.models.base import Encoder

TRIES = 8
MOST_USERS = 64  # whose indexes are kept; a user of 10,000 memories takes some 40 MB


class Indexes:
    """Indexes by user; safe to use from several threads."""

    def __init__(self, memories: Memories, *, encoder: Callable[[], Encoder]) -> None:
        self.memories = memories
        self._encoder = encoder
        self._lock = threading.Lock()
        self._of: dict[str, UserIndex] = {}

    @property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self._encoder()

    def of(self, user: str) -> UserIndex:
        """The index of a user, read again where somebody else has written."""
        index = self._of.get(user)
        if index is not None and index.version == self.memories.version(user):
            return index
        with self._lock:
            index = self._of.get(user)
            if index is None or index.version != self.memories.version(user):
                known = self.memories.load(user)
                index = UserIndex(known, encoder=self.encoder, neighbours=self.memories.graph)
                while len(self._of) >= MOST_USERS:
                    self._of.pop(next(iter(self._of)))
                self._of[user] = index
        if index.unembedded:
            self._embed(user, index)
        return index

    def _embed(self, user: str, index: UserIndex) -> None:
        """Embed what was stored without this model, once for all processes."""
        with index.lock:
            changes = MemoryChanges(memories=tuple(self.embedded(index.unembedded)))
            if not changes:
                return
            try:
                version = self.memories.apply(user, changes, expected=index.version)
            except StoreError:  # written by another, or not to be written: the vectors are this process's
                version = index.version
            index.follow(changes, version=version)

    def embedded(self, memories: Sequence[Memory]) -> list[Memory]:
        """The same memories with their vectors."""
        if not memories:
            return []
        encoder = self.encoder
        vectors = encoder.encode_passages([embedded_text(memory) for memory in memories])
        return [
            replace(memory, embedding=vector.astype("float32").tobytes(), embedded_by=encoder.name)
            for memory, vector in zip(memories, vectors, strict=True)
        ]

    def change(self, user: str, decide: Callable[[UserIndex], MemoryChanges]) -> MemoryChanges:
        """Decide on a user's rows and write it; again, where somebody else was first.

        Raises `MemoriesChanged` where others are first every time.
        """

        def write(index: UserIndex) -> MemoryChanges:
            expected = index.version
            if changes := decide(index):
                index.follow(changes, version=self.memories.apply(user, changes, expected=expected))
            return changes

        return self._written(user, write)

    def erase(
        self,
        user: str,
        decide: Callable[[UserIndex], tuple[MemoryChanges, Sequence[str]]],
        *,
        turns: Collection[str] = (),
    ) -> MemoryChanges:
        """As `change`, and no file of the store has what is gone or replaced, the words, nor the turns."""

        def write(index: UserIndex) -> MemoryChanges:
            expected = index.version
            changes, words = decide(index)
            if changes or words or turns:
                self.forget_index(user)
                self.memories.forget(user, changes, words=words, turns=turns, expected=expected)
            return changes

        return self._written(user, write)

    def _written(self, user: str, write: Callable[[UserIndex], MemoryChanges]) -> MemoryChanges:
        for _ in range(TRIES):
            index = self.of(user)
            with index.lock, suppress(MemoriesChanged):
                return write(index)
            self.forget_index(user)
        raise MemoriesChanged("Other processes keep writing to these memories.", "Try again.")

    def forget_index(self, user: str) -> None:
        """Drop what the process holds of a user; the store is read at the next use."""
        with self._lock:
            self._of.pop(user, None)
