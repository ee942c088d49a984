"""Write the graph: entities, mentions and relations of one message, resolved against the known ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memory.entities import Stated, entities_in, normalised, relations_in
from memory.facts import USER
from memory.guard import without_secrets
from memory.ids import id_of
from pipeline.stores.memories import Entity, Memory, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from memory.facts import Facts
    from memory.index import UserIndex

PASSAGE = 500  # characters of the best passage whose names are kept


@dataclass(slots=True, kw_only=True)
class Naming:
    """The rows of the graph that one message adds, by id."""

    index: UserIndex
    at: float
    turn_id: str = ""
    entities: dict[str, Entity] = field(default_factory=dict)
    mentions: dict[str, Mention] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)

    def add_memories(self, memories: Sequence[Memory]) -> None:
        """Add what the trusted memories name."""
        for memory in memories:
            if memory.trusted:
                self._add_text(memory.text, memory_id=memory.id)

    def add_turn(self, message: str, answer: str, passage: str) -> None:
        """Add what a message and its answer name, and the names at the beginning of a passage."""
        self._add_text(without_secrets(message))
        self._add_text(without_secrets(answer))
        for named in entities_in(passage[:PASSAGE]):
            self._mention(named.name, named.kind)

    def add_facts(self, facts: Facts, *, memory_id: str) -> None:
        """Add the entities and relations that a model read."""
        for item in facts.entities:
            self._mention(item.name, item.type, memory_id=memory_id, attributes=item.attributes)
        for relation in facts.relations:
            self._relate(relation, memory_id)

    def changed(self, changes: MemoryChanges) -> MemoryChanges:
        """Return the changes together with the rows that are new."""
        known = self.index
        return replace(
            changes,
            entities=tuple(item for item in self.entities.values() if known.entities.get(item.id) != item),
            mentions=tuple(item for item in self.mentions.values() if item.id not in known.mentions),
            relations=tuple(item for item in self.relations.values() if item.id not in known.relations),
        )

    def _add_text(self, text: str, *, memory_id: str = "") -> None:
        for named in entities_in(text):
            self._mention(named.name, named.kind, memory_id=memory_id)
        for stated in relations_in(text):
            self._relate(stated, memory_id)

    def _mention(
        self, name: str, kind: str, *, memory_id: str = "", attributes: Mapping[str, str] | None = None
    ) -> None:
        entity = self._resolved(name, kind, attributes)
        known = id_of(self.index.user, self.turn_id or memory_id, memory_id, entity)
        self.mentions[known] = Mention(id=known, entity_id=entity, **self._where(memory_id))

    def _relate(self, stated: Stated, memory_id: str) -> None:
        subject, thing = (
            self._resolved(USER if normalised(end) == USER else end)
            for end in (stated.subject, stated.object)
        )
        known = id_of(self.index.user, subject, stated.label, thing)
        ends: dict[str, Any] = {"subject_id": subject, "label": stated.label, "object_id": thing}
        self.relations[known] = Relation(id=known, **ends, **self._where(memory_id))

    def _where(self, memory_id: str) -> dict[str, Any]:
        return {"user": self.index.user, "at": self.at, "memory_id": memory_id, "turn_id": self.turn_id}

    def _resolved(self, name: str, kind: str = "", attributes: Mapping[str, str] | None = None) -> str:
        """Return the id of the entity with this normalised name; add it, or its new attributes."""
        user, key = self.index.user, normalised(name)
        found = self.index.entity_named(key)
        known = found.id if found else id_of(user, key)
        old = self.entities.get(known) or found or Entity(id=known, user=user, name=name, type=kind)
        merged = {**old.attributes, **(attributes or {})}
        self.entities[known] = replace(old, type=old.type or kind, attributes=merged)
        return known
