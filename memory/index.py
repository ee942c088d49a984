"""In-process index of a user's stored rows by id, text, word, vector and name; components of a memory.

The index is built from the store, and again if another process writes; it is never written to a file.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from memory.entities import normalised
from memory.options import OTHER_THRESHOLD, PRESETS, THRESHOLDS, MemoryOptions, Preset
from memory.texts import Texts
from memory.times import now
from pipeline.analysis import analyse
from pipeline.errors import MemoriesChanged, StoreError
from pipeline.stores.memories import Memories, Memory, MemoryChanges, UserMemories

if TYPE_CHECKING:
    from memory.facts import Complete
    from memory.turns import UserTurns
    from pipeline.answering.recollection import Recalled
    from pipeline.models.base import Encoder
    from pipeline.stores.memories import Entity, Mention, Relation

TRIES = 8
MOST_USERS = 64  # with an index in the process; 10,000 memories take about 40 MB

_FOUND_BY = attrgetter("text", "embedding", "subject", "predicate")


class UserIndex:
    """One user's rows at one version of the store; acquire `lock` before you use it."""

    def __init__(self, known: UserMemories) -> None:
        self.lock = threading.RLock()
        self.user = known.user
        self.memories: dict[str, Memory] = {}  # in the order of their creation
        self.entities: dict[str, Entity] = {}
        self.mentions: dict[str, Mention] = {}
        self.relations: dict[str, Relation] = {}
        self.texts = Texts()  # one for each memory, in the same order
        self.names: dict[str, str] = {}  # ids of entities by normalised name
        self._said: dict[str, set[str]] = defaultdict(set)  # ids of memories by normalised text
        self._related: dict[str, set[str]] = defaultdict(set)  # ids of relations by entity
        self.follow(known, version=known.version)

    def goes_on_with(self, changes: MemoryChanges) -> bool:
        """Tell whether `follow` can apply changes: no removals, no new text, vector, subject or predicate."""
        before = ((self.memories.get(memory.id), memory) for memory in changes.memories)
        return not changes.removed and all(
            old is None or _FOUND_BY(old) == _FOUND_BY(new) for old, new in before
        )

    def follow(self, changes: MemoryChanges | UserMemories, *, version: int) -> None:
        """Add or replace the rows, without removing any, and set the index to this store version."""
        for memory in sorted(changes.memories, key=attrgetter("created_at", "id")):
            if memory.id not in self.memories:
                self.texts.add(analyse(memory.text), np.frombuffer(memory.embedding, dtype=np.float32))
                self._said[normalised(memory.text)].add(memory.id)
            self.memories[memory.id] = memory
        for entity in changes.entities:
            self.entities[entity.id] = entity
            self.names.setdefault(normalised(entity.name), entity.id)
        for mention in changes.mentions:
            self.mentions[mention.id] = mention
        for relation in changes.relations:
            self.relations[relation.id] = relation
            for end in (relation.subject_id, relation.object_id):
                self._related[end].add(relation.id)
        self.version = version

    def with_text(self, text: str) -> list[Memory]:
        """Return the memories with the same normalised text, including ended ones."""
        return [self.memories[found] for found in sorted(self._said.get(normalised(text), ()))]

    def about(self, subject: str, predicate: str) -> list[Memory]:
        """Return the live memories with this subject and predicate, oldest first."""
        about = (subject, predicate)
        return [it for it in self.memories.values() if it.live and (it.subject, it.predicate) == about]

    def entity_named(self, name: str) -> Entity | None:
        """Return the entity with this name, both in normalised form; None if there is none."""
        return self.entities.get(self.names.get(normalised(name), ""))

    def relations_of(self, entity_id: str) -> list[Relation]:
        """Return the relations that an entity is the subject or the object of."""
        return [self.relations[found] for found in sorted(self._related.get(entity_id, ()))]


class Indexes:
    """The indexes of all users; safe to use from several threads."""

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
        """Return a user's index; build it if there is none yet, or if another process has written."""
        index = self._of.get(user)
        since = index.version if index else 0  # read once: another thread of this process may write now
        known = self.memories.load(user, since=since)
        if index is None or since != known.version:
            index = UserIndex(self._embedded(known))
            with self._lock:
                self._of.pop(user, None)
                while len(self._of) >= MOST_USERS:
                    self._of.pop(next(iter(self._of)))
                self._of[user] = index
        return index

    def _embedded(self, known: UserMemories) -> UserMemories:
        """Return the rows with this model's vectors for all memories; store new vectors if possible."""
        user, name = known.user, self.encoder.name
        new = self.embedded(
            [item for item in known.memories if not item.embedding or item.embedded_by != name]
        )
        if not new:
            return known
        try:
            version = self.memories.apply(user, MemoryChanges(memories=tuple(new)), expected=known.version)
        except StoreError:  # another process wrote, or the store is read-only: keep the vectors here
            version = known.version
        rows = {memory.id: memory for memory in (*known.memories, *new)}
        return replace(known, version=version, memories=tuple(rows.values()))

    def embedded(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return copies of the memories with vectors of the current embedding model."""
        if not memories:
            return []
        encoder = self.encoder
        vectors = encoder.encode_passages([memory.text for memory in memories])
        return [
            replace(memory, embedding=vector.astype("float32").tobytes(), embedded_by=encoder.name)
            for memory, vector in zip(memories, vectors, strict=True)
        ]

    def change(
        self,
        user: str,
        decide: Callable[[UserIndex], MemoryChanges],
        *,
        erase: bool = False,
        turns: Collection[str] = (),
    ) -> MemoryChanges:
        """Write and return the changes that `decide` makes; call it again if another process wrote first.

        Also delete `turns` by id. With `erase`, no file of the store then contains the removed rows or turns.
        Raises `MemoriesChanged` after `TRIES` tries, and the other errors of `Memories.apply`.
        """
        for _ in range(TRIES):
            index = self.of(user)
            with index.lock, suppress(MemoriesChanged):
                changes = replace(decide(index), removed_turns=tuple(turns))
                if not changes:
                    return changes
                if erase:
                    with self._lock:
                        self._of.pop(user, None)  # the store is read again at the next use
                version = self.memories.apply(user, changes, expected=index.version, erase=erase)
                if not erase and index.goes_on_with(changes):
                    index.follow(changes, version=version)
                return changes
        raise MemoriesChanged("Other processes keep writing to these memories.", "Try again.")


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """The components and options of one user's memory; safe to use from several threads."""

    indexes: Indexes
    user: str
    turns: UserTurns  # from conversations that are not private
    options: MemoryOptions = field(default_factory=lambda: MemoryOptions())
    static: tuple[Recalled, ...] = ()  # fixed memories of the persona
    find_model: Callable[[], Complete | None] = lambda: None  # the language model's call; None without one
    hashes: Callable[[], Mapping[str, str]] = dict  # of the documents' files, by source
    clock: Callable[[], float] = now

    @property
    def preset(self) -> Preset:
        """The memory preset in use."""
        return PRESETS[self.options.memory]

    @property
    def index(self) -> UserIndex:
        """The index of the user's rows, up to date with the store."""
        return self.indexes.of(self.user)

    @property
    def threshold(self) -> float:
        """The least cosine of a recalled memory: the option if set, else the embedding model's."""
        own = self.options.memory_threshold
        return THRESHOLDS.get(self.indexes.encoder.name, OTHER_THRESHOLD) if own is None else own

    def write(self, decide: Callable[[UserIndex], Iterable[Memory]]) -> Sequence[Memory]:
        """Write and return the memories that `decide` makes from the current rows; it may run repeatedly."""
        changes = self.indexes.change(self.user, lambda index: MemoryChanges(memories=tuple(decide(index))))
        return changes.memories
