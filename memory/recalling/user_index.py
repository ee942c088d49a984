"""All that is stored of one user, in the process: looked up by id, by word, by vector and by name.

It is built from the store and follows its versions; nothing of it is ever written to a file.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from memory.ids import plain
from memory.reading.entities import normalised
from memory.reading.rules import UNREAD
from memory.recalling.texts import Texts
from pipeline.analysis import analyse
from pipeline.errors import MemoriesChanged, StoreError
from pipeline.stores.memories import Around, Memories, Memory, MemoryChanges, UserMemories

if TYPE_CHECKING:
    from pipeline.models.base import Encoder
    from pipeline.stores.memories import Entity, MemoryGraph, Mention, Relation


class UserIndex:
    """One user's rows at one version; use it under its `lock`."""

    def __init__(self, known: UserMemories, *, neighbours: MemoryGraph | None = None) -> None:
        self.lock = threading.RLock()
        self.user = known.user
        self.damaged = known.damaged  # ids of rows that cannot be read
        self.memories: dict[str, Memory] = {}  # in the order of their creation
        self.entities: dict[str, Entity] = {}
        self.mentions: dict[str, Mention] = {}
        self.relations: dict[str, Relation] = {}
        self.texts = Texts()  # one for each memory, in their order
        self._neighbours = neighbours
        self._names: dict[str, str] = {}  # normalised names and aliases: ids of entities
        self._said: dict[str, set[str]] = defaultdict(set)  # plain texts: ids of memories
        self._about: dict[tuple[str, str], set[str]] = defaultdict(set)  # subject, predicate: ids of memories
        self._mentioned: dict[str, set[str]] = defaultdict(set)  # ids of entities: of mentions
        self._related: dict[str, set[str]] = defaultdict(set)  # ids of entities: of relations
        memories = sorted(known.memories, key=lambda memory: (memory.created_at, memory.id))
        rows = {"entities": known.entities, "mentions": known.mentions, "relations": known.relations}
        self.follow(MemoryChanges(memories=tuple(memories), **rows), version=known.version)  # type: ignore[arg-type]

    # -- following the store --------------------------------------------------------------------------

    def goes_on_with(self, changes: MemoryChanges) -> bool:
        """Whether changes only add to it, or end something: else it stays behind, and is read again."""
        before = ((self.memories.get(memory.id), memory) for memory in changes.memories)
        return not changes.removed and all(
            old is None or _found_by(old) == _found_by(new) for old, new in before
        )

    def follow(self, changes: MemoryChanges, *, version: int) -> None:
        """Take in what was written, as the store has done."""
        for memory in changes.memories:
            if memory.id not in self.memories:
                vector = np.frombuffer(memory.embedding, dtype=np.float32).reshape(1, -1)
                self.texts.add([analyse(memory.text)], vector)
                self._said[plain(memory.text)].add(memory.id)
                self._about[memory.subject, memory.predicate].add(memory.id)
            self.memories[memory.id] = memory
        for entity in changes.entities:
            self.entities[entity.id] = entity
            for name in (entity.name, *entity.aliases):
                self._names.setdefault(normalised(name), entity.id)
        for mention in changes.mentions:
            self.mentions[mention.id] = mention
            self._mentioned[mention.entity_id].add(mention.id)
        for relation in changes.relations:
            self.relations[relation.id] = relation
            for end in (relation.subject_id, relation.object_id):
                self._related[end].add(relation.id)
        self.version = version

    # -- looking things up ------------------------------------------------------------------------------

    def with_text(self, text: str) -> list[Memory]:
        """The memories that say the same, but for case, blanks and the full stop; history included."""
        return [self.memories[found] for found in sorted(self._said.get(plain(text), ()))]

    def about(self, subject: str, predicate: str) -> list[Memory]:
        """The memories of a subject and a predicate; history included."""
        found = [self.memories[known] for known in self._about.get((subject, predicate), ())]
        return sorted(found, key=lambda memory: (memory.created_at, memory.id))

    def entity_named(self, name: str) -> Entity | None:
        """The entity of an exact name or alias, once both are normalised."""
        return self.entities.get(self._names.get(normalised(name), ""))

    def relations_of(self, entity_id: str) -> Iterable[Relation]:
        """The relations that an entity is the subject or the object of."""
        return [self.relations[found] for found in sorted(self._related.get(entity_id, ()))]

    def mentions_of(self, entity_id: str) -> Iterable[Mention]:
        """When an entity was spoken of."""
        return [self.mentions[found] for found in sorted(self._mentioned.get(entity_id, ()))]

    def around(self, entity_ids: Sequence[str], *, depth: int, most: int) -> Around:
        """What is within `depth` relations of any of the entities: `most` entities."""
        asked_for = [known for known in entity_ids if known in self.entities]
        if self._neighbours is None or not depth or not asked_for:
            return self._around(asked_for, depth=depth, most=most)
        return self._neighbours.around(self.user, asked_for, depth=depth, most=most, version=self.version)

    def _around(self, entity_ids: Sequence[str], *, depth: int, most: int) -> Around:
        """The same, found in the process."""
        distances = dict.fromkeys(entity_ids, 0)
        edge, relations = list(distances), dict[str, None]()
        for distance in range(1, depth + 1):
            further: list[str] = []
            for relation in (relation for here in edge for relation in self.relations_of(here)):
                relations[relation.id] = None
                for there in (relation.subject_id, relation.object_id):
                    if there not in distances and len(distances) < most:
                        distances[there] = distance
                        further.append(there)
            edge = further
        mentions = [mention.id for known in distances for mention in self.mentions_of(known)]
        return Around(distances=distances, relations=tuple(relations), mentions=tuple(mentions))


_found_by = attrgetter("text", "embedding", "subject", "predicate")


def embedded_text(memory: Memory) -> str:
    """What of a memory is embedded: with its predicate, which questions name more often than its words do."""
    read = memory.kind in ("fact", "observation") and memory.predicate not in UNREAD
    return f"{memory.text} ({memory.predicate})" if read else memory.text


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
        if index is None or index.version != self.memories.version(user):
            index = UserIndex(self._loaded(user), neighbours=self.memories.graph)
            with self._lock:
                self._of.pop(user, None)
                while len(self._of) >= MOST_USERS:
                    self._of.pop(next(iter(self._of)))
                self._of[user] = index
        return index

    def _loaded(self, user: str) -> UserMemories:
        """All that is stored of a user; what this model has not embedded is, once for all processes."""
        known, name = self.memories.load(user), self.encoder.name
        new = self.embedded(
            [item for item in known.memories if not item.embedding or item.embedded_by != name]
        )
        if not new:
            return known
        try:
            version = self.memories.apply(user, MemoryChanges(memories=tuple(new)), expected=known.version)
        except StoreError:  # written by another, or not to be written: the vectors are this process's
            version = known.version
        rows = {memory.id: memory for memory in (*known.memories, *new)}
        return replace(known, version=version, memories=tuple(rows.values()))

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
                version = self.memories.apply(user, changes, expected=expected)
                if index.goes_on_with(changes):
                    index.follow(changes, version=version)
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
                with self._lock:
                    self._of.pop(user, None)  # whatever comes of it, the store is read at the next use
                self.memories.forget(user, changes, words=words, turns=turns, expected=expected)
            return changes

        return self._written(user, write)

    def _written(self, user: str, write: Callable[[UserIndex], MemoryChanges]) -> MemoryChanges:
        for _ in range(TRIES):
            index = self.of(user)
            with index.lock, suppress(MemoriesChanged):
                return write(index)
        raise MemoriesChanged("Other processes keep writing to these memories.", "Try again.")
