"""The graph of whom and what was spoken of: neighbourhoods, the stream, what is known best, what changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from memory.recalling.user_index import UserIndex
from pipeline.analysis import analyse
from pipeline.stores.memories import Entity, Memory, Mention, Relation

MOST_NEIGHBOURS = 200  # of a neighbourhood: more is no help to anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What is around some entities: with the distance of each, and what says so."""

    entities: tuple[Entity, ...] = ()  # nearest first
    distances: dict[str, int] = field(default_factory=dict)  # by id of entity; 0 = asked for
    relations: tuple[Relation, ...] = ()  # latest first
    direct: tuple[str, ...] = ()  # ids of memories that name what was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One entity, how often it was spoken of, and when last."""

    entity: Entity
    mentions: int
    last_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What two periods have said of one entity."""

    entity: Entity
    before: int
    after: int


def neighbourhood(graph: UserIndex, entity_ids: Sequence[str], *, depth: int = 2) -> Neighbourhood:
    """Everything within `depth` relations of any of the entities, in either direction."""
    found = graph.around(entity_ids, depth=depth, most=MOST_NEIGHBOURS)
    relations = [graph.relations[known] for known in found.relations if known in graph.relations]
    mentions = [graph.mentions[known] for known in found.mentions if known in graph.mentions]
    asked_for = {known for known, distance in found.distances.items() if distance == 0}
    direct = [item.memory_id for item in mentions if item.entity_id in asked_for and item.memory_id]
    return Neighbourhood(
        entities=tuple(graph.entities[known] for known in found.distances if known in graph.entities),
        distances=dict(found.distances),
        relations=tuple(sorted(relations, key=lambda item: (-item.at, item.id))),
        direct=tuple(dict.fromkeys(direct)),
    )


def stream(graph: UserIndex, *, entity_id: str = "") -> list[Mention]:
    """What was spoken of and when, latest first; not what documents name."""
    said = (item for item in graph.mentions.values() if not item.source)
    found = (item for item in said if entity_id in ("", item.entity_id))
    return sorted(found, key=lambda item: (-item.at, item.id))


def entity_knowledge(graph: UserIndex, *, since: float = 0.0, until: float = float("inf")) -> list[Known]:
    """The entities spoken of most, the most frequent first, then the latest."""
    times: dict[str, list[float]] = defaultdict(list)
    for mention in graph.mentions.values():
        if since <= mention.at < until and mention.entity_id in graph.entities and not mention.source:
            times[mention.entity_id].append(mention.at)
    known = [
        Known(entity=graph.entities[entity], mentions=len(said), last_at=max(said))
        for entity, said in times.items()
    ]
    return sorted(known, key=lambda item: (-item.mentions, -item.last_at, item.entity.name))


def fitting(graph: UserIndex, around: Neighbourhood, terms: Collection[str]) -> list[Relation]:
    """The relations of a neighbourhood, each once: with the most of these terms first, then the nearest."""
    wanted = frozenset(terms)

    def rank(relation: Relation) -> tuple[int, int]:
        return -len(wanted.intersection(analyse(sentence(graph, relation)))), _distance(around, relation)

    said = {(item.subject_id, item.label, item.object_id): item for item in reversed(around.relations)}
    return sorted(sorted(said.values(), key=lambda item: (-item.at, item.id)), key=rank)


def connected(around: Neighbourhood, relations: Iterable[Relation]) -> list[Relation]:
    """Those of the relations that lead from what was asked for to each other, in their order."""
    reached = {known for known, distance in around.distances.items() if distance == 0}
    left, kept = list(relations), set[str]()
    while near := [item for item in left if reached.intersection((item.subject_id, item.object_id))]:
        kept |= {item.id for item in near}
        reached |= {end for item in near for end in (item.subject_id, item.object_id)}
        left = [item for item in left if item.id not in kept]
    return [item for item in around.relations if item.id in kept]


def about(around: Neighbourhood, relations: Iterable[Relation]) -> list[Relation]:
    """Those of the relations that what was asked for is a side of."""
    return [relation for relation in relations if not _distance(around, relation)]


def _distance(around: Neighbourhood, relation: Relation) -> int:
    return min(
        around.distances.get(end, MOST_NEIGHBOURS) for end in (relation.subject_id, relation.object_id)
    )


def themes(memories: Iterable[Memory], *, most: int = 10) -> list[tuple[str, int]]:
    """The tags and categories of what is remembered, with their counts, the most frequent first."""
    counts = Counter(
        theme for memory in memories for theme in dict.fromkeys((*memory.tags, memory.category)) if theme
    )
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def changes(graph: UserIndex, *, before: tuple[float, float], after: tuple[float, float]) -> list[Change]:
    """The entities that two periods have spoken of differently often; the greatest change first."""
    first, second = (
        {known.entity.id: known.mentions for known in entity_knowledge(graph, since=begun, until=ended)}
        for begun, ended in (before, after)
    )
    found = [
        Change(entity=graph.entities[entity], before=first.get(entity, 0), after=second.get(entity, 0))
        for entity in first.keys() | second.keys()
        if first.get(entity, 0) != second.get(entity, 0)
    ]
    return sorted(found, key=lambda item: (-abs(item.after - item.before), item.entity.name))


def sentence(graph: UserIndex, relation: Relation) -> str:
    """A relation in words, with the document that states it."""
    subject, thing = graph.entities.get(relation.subject_id), graph.entities.get(relation.object_id)
    said = f"{subject.name if subject else '?'} {relation.label} {thing.name if thing else '?'}"
    return f"{said} ({relation.source})" if relation.source else said
