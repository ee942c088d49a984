"""The graph of entities: rows that a message adds, neighbourhoods, entities ranked by their mentions."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memory.entities import Named, Stated, entities_in, normalised, relations_in
from memory.facts import USER
from memory.guard import without_secrets
from pipeline.stores.memories import Entity, Memory, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from memory.facts import Facts
    from memory.index import UserIndex

SPACE = uuid.UUID("7c0b5a86-4f5e-4f0c-9a55-6a1f5b0d7e11")
PASSAGE = 500  # first characters of the best passage, searched for names
MOST_NEIGHBOURS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The entities and relations near the given entities."""

    entities: tuple[Entity, ...] = ()  # nearest first
    relations: tuple[Relation, ...] = ()  # nearest first, then latest
    direct: frozenset[str] = frozenset()  # ids of memories that mention a given entity


def neighbourhood(graph: UserIndex, entity_ids: Sequence[str], *, depth: int = 2) -> Neighbourhood:
    """Return the entities and relations within `depth` steps of the given entities, in either direction.

    At most `MOST_NEIGHBOURS` entities. Unknown ids and relations of ended or untrusted memories are left out.
    """
    gone = {memory.id for memory in graph.memories.values() if not (memory.live and memory.trusted)}
    distances = {known: 0 for known in entity_ids if known in graph.entities}
    asked, edge = [*distances], [*distances]
    found: dict[str, Relation] = {}
    for distance in range(1, depth + 1):
        further: list[str] = []
        for relation in (one for here in edge for one in graph.relations_of(here)):
            if relation.memory_id in gone:
                continue
            found[relation.id] = relation
            for there in ends(relation):
                if there not in distances and len(distances) < MOST_NEIGHBOURS:
                    distances[there] = distance
                    further.append(there)
        edge = further
    direct = [item.memory_id for item in graph.mentions.values() if item.entity_id in asked]

    def nearest(relation: Relation) -> tuple[int, float, str]:
        return min(distances.get(end, depth) for end in ends(relation)), -relation.at, relation.id

    return Neighbourhood(
        entities=tuple(graph.entities[known] for known in distances),
        relations=tuple(sorted(found.values(), key=nearest)),
        direct=frozenset(direct) - {""},
    )


def entity_knowledge(graph: UserIndex, *, since: float = 0.0, until: float = float("inf")) -> list[Entity]:
    """Return the entities mentioned in a period (epoch seconds), most often mentioned first, then latest."""
    times: dict[str, list[float]] = defaultdict(list)
    for mention in graph.mentions.values():
        if since <= mention.at < until and mention.entity_id in graph.entities:
            times[mention.entity_id].append(mention.at)
    known = [graph.entities[entity] for entity in times]
    return sorted(known, key=lambda item: (-len(times[item.id]), -max(times[item.id]), item.name))


def id_of(*parts: str) -> str:
    """Return a UUID computed from the parts: the same parts give the same id."""
    return str(uuid.uuid5(SPACE, "\x1f".join(parts)))


def ends(row: Mention | Relation) -> tuple[str, ...]:
    """Return the id of a mention's entity, or the ids of a relation's subject and object."""
    return (row.entity_id,) if isinstance(row, Mention) else (row.subject_id, row.object_id)


def sentence(graph: UserIndex, relation: Relation) -> str:
    """Return a relation as "subject label object", with "?" for an unknown entity."""
    subject, thing = graph.entities.get(relation.subject_id), graph.entities.get(relation.object_id)
    return f"{subject.name if subject else '?'} {relation.label} {thing.name if thing else '?'}"


def described(entity: Entity) -> str:
    """Return an entity's name with its attributes: "Karl (job: pilot)"."""
    details = ", ".join(f"{key}: {value}" for key, value in entity.attributes.items())
    return f"{entity.name} ({details})" if details else entity.name


# -- what a message adds -----------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Naming:
    """Collects the graph rows that a message adds, by id; `at` is its time in seconds since the epoch."""

    index: UserIndex
    at: float
    turn_id: str = ""
    entities: dict[str, Entity] = field(default_factory=dict)
    mentions: dict[str, Mention] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)

    def add_memories(self, memories: Sequence[Memory]) -> None:
        """Add the entities and relations in the texts of the trusted memories."""
        for memory in memories:
            if memory.trusted:
                self._add_text(memory.text, memory_id=memory.id)

    def add_turn(self, message: str, answer: str, passage: str) -> None:
        """Add the entities and relations in a message and its answer, and entities early in a passage."""
        self._add_text(without_secrets(message))
        self._add_text(without_secrets(answer))
        for named in entities_in(passage[:PASSAGE]):
            self._mention(named)

    def add_facts(self, facts: Facts, *, memory_id: str) -> None:
        """Add the entities and relations that a model found; `memory_id` is their memory, "" for none."""
        for item in facts.entities:
            self._mention(item, memory_id)
        for relation in facts.relations:
            self._relate(relation, memory_id)

    def changed(self, changes: MemoryChanges) -> MemoryChanges:
        """Return a copy of the changes with the collected rows that are new or changed."""
        known = self.index
        return replace(
            changes,
            entities=tuple(item for item in self.entities.values() if known.entities.get(item.id) != item),
            mentions=tuple(item for item in self.mentions.values() if item.id not in known.mentions),
            relations=tuple(item for item in self.relations.values() if item.id not in known.relations),
        )

    def _add_text(self, text: str, *, memory_id: str = "") -> None:
        for named in entities_in(text):
            self._mention(named, memory_id)
        for stated in relations_in(text):
            self._relate(stated, memory_id)

    def _mention(self, named: Named, memory_id: str = "") -> None:
        entity = self._resolved(named.name, named.kind, named.attributes)
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
