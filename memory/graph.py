"""The graph of entities: neighbourhoods, best known entities, themes over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.index import UserIndex
    from pipeline.stores.memories import Entity, Relation

MOST_NEIGHBOURS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What is within some relations of the entities that were asked for."""

    entities: tuple[Entity, ...] = ()  # nearest first
    distances: dict[str, int] = field(default_factory=dict)  # by id of entity; 0 = asked for
    relations: tuple[Relation, ...] = ()  # nearest first, then latest
    direct: tuple[str, ...] = ()  # ids of memories that name what was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One entity, how often it was mentioned, and when last."""

    entity: Entity
    mentions: int
    last_at: float


def neighbourhood(graph: UserIndex, entity_ids: Sequence[str], *, depth: int = 2) -> Neighbourhood:
    """Return everything within `depth` relations of any of the entities, in either direction.

    Relations of memories that have ended, or are not trusted, are left out.
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
            for there in _ends(relation):
                if there not in distances and len(distances) < MOST_NEIGHBOURS:
                    distances[there] = distance
                    further.append(there)
        edge = further
    direct = [item.memory_id for item in graph.mentions.values() if item.entity_id in asked]

    def nearest(relation: Relation) -> tuple[int, float, str]:
        return min(distances.get(end, depth) for end in _ends(relation)), -relation.at, relation.id

    return Neighbourhood(
        entities=tuple(graph.entities[known] for known in distances),
        distances=distances,
        relations=tuple(sorted(found.values(), key=nearest)),
        direct=tuple(dict.fromkeys(filter(None, direct))),
    )


def entity_knowledge(graph: UserIndex, *, since: float = 0.0, until: float = float("inf")) -> list[Known]:
    """Return the themes of a period: its entities, those mentioned most first, then the latest."""
    times: dict[str, list[float]] = defaultdict(list)
    for mention in graph.mentions.values():
        if since <= mention.at < until and mention.entity_id in graph.entities:
            times[mention.entity_id].append(mention.at)
    known = [
        Known(entity=graph.entities[entity], mentions=len(said), last_at=max(said))
        for entity, said in times.items()
    ]
    return sorted(known, key=lambda item: (-item.mentions, -item.last_at, item.entity.name))


def _ends(relation: Relation) -> tuple[str, str]:
    return relation.subject_id, relation.object_id


def sentence(graph: UserIndex, relation: Relation) -> str:
    """Return a relation in words."""
    subject, thing = graph.entities.get(relation.subject_id), graph.entities.get(relation.object_id)
    return f"{subject.name if subject else '?'} {relation.label} {thing.name if thing else '?'}"


def described(entity: Entity) -> str:
    """Return an entity's name with its attributes: "Karl (job: pilot)"."""
    details = ", ".join(f"{key}: {value}" for key, value in entity.attributes.items())
    return f"{entity.name} ({details})" if details else entity.name
