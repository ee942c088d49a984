"""Queries of one collection in Weaviate: the best by words or by vector, all of some ids, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.aggregate import GroupByAggregate
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.collections.classes.filters import FilterReturn

from pipeline.stores.base import Level, Vector
from pipeline.stores.server.batches import Properties
from pipeline.stores.server.schema import SEARCHED, Place

MAX_RESULTS = 10_000
"""Weaviate's QUERY_MAXIMUM_RESULTS: what one query gives at most."""

FRESH_RESULTS = 1000
"""Asked for by words where something is still in Weaviate's memory: there (1.36) it passes over matches as
soon as it has as many as were asked for. SciFact's sections, just written: overlap of the first ten with
tantivy's .82 to .95 asking for 100, .97 to .98 asking for 1,000, as on disk."""

MAX_VERSIONS = 100_000_000
"""Groups that a count may have; without a limit Weaviate gives a hundred."""

PAGE = 1000  # sentences of one section, where it has more than a query gives

_IDS: Mapping[Level, list[str]] = {
    "section": ["node", "version"],
    "sentence": ["node", "version", "section"],
}


class Found(NamedTuple):
    """One found node, of the version of its document that it belongs to."""

    node_id: str
    section_id: str
    version: str
    score: float


class Fetched(NamedTuple):
    """One object with the properties that were asked for, and its vector where that was."""

    properties: Properties
    vector: Vector | None


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, and how much of it is wanted."""

    collection: Place
    level: Level
    limit: int
    visible: Collection[str]
    where: FilterReturn | None

    def bm25(self, client: WeaviateClient, *, words: str, at_least: int = 0) -> list[Found]:
        """The best by words, which are only split at blanks."""
        query = self.collection.of(client).query

        def best(size: int) -> list[Found]:
            answer = query.bm25(
                query=words,
                query_properties=[SEARCHED],
                limit=size,
                filters=self.where,
                return_metadata=MetadataQuery(score=True),
                return_properties=_IDS[self.level],
            )
            return [_found(item.properties, item.metadata.score or 0.0) for item in answer.objects]

        return best_visible(best, self.limit, self.visible, at_least=at_least)

    def dense(self, client: WeaviateClient, *, vector: list[float]) -> list[Found]:
        """The nearest by cosine."""
        query = self.collection.of(client).query

        def nearest(size: int) -> list[Found]:
            answer = query.near_vector(
                near_vector=vector,
                limit=size,
                filters=self.where,
                return_metadata=MetadataQuery(distance=True),
                return_properties=_IDS[self.level],
            )
            return [_found(item.properties, 1.0 - (item.metadata.distance or 0.0)) for item in answer.objects]

        return best_visible(nearest, self.limit, self.visible)


@dataclass(frozen=True, slots=True)
class Fetch:
    """What is fetched of a collection's objects."""

    collection: Place
    properties: list[str]
    with_vectors: bool

    def by_ids(self, client: WeaviateClient, by: str, ids: list[str]) -> list[Fetched]:
        """All objects whose property `by` is one of the ids, however many."""
        where = Filter.by_property(by).contains_any(ids)
        found = self._fetch(client, where)
        if len(found) < MAX_RESULTS:
            return found
        if len(ids) > 1:  # more than one query gives: half the ids at a time
            half = len(ids) // 2
            return self.by_ids(client, by, ids[:half]) + self.by_ids(client, by, ids[half:])
        found, start = [], 0
        while page := self._fetch(client, where & _between(start, start + PAGE)):
            found += page
            start += PAGE
        return found

    def _fetch(self, client: WeaviateClient, where: FilterReturn) -> list[Fetched]:
        answer = self.collection.of(client).query.fetch_objects(
            filters=where,
            limit=MAX_RESULTS,
            include_vector=self.with_vectors,
            return_properties=self.properties,
        )
        return [Fetched(item.properties, _vector(item.vector)) for item in answer.objects]


def count_stored(client: WeaviateClient, *, collection: Place) -> Counter[str]:
    """How many objects of each version there are, counted by the server."""
    groups = collection.of(client).aggregate.over_all(
        group_by=GroupByAggregate(prop="version", limit=MAX_VERSIONS), total_count=True
    )
    return Counter({str(group.grouped_by.value): group.total_count or 0 for group in groups.groups})


def count_near(
    client: WeaviateClient, *, collection: Place, versions: list[str], vector: list[float]
) -> Counter[str]:
    """How many objects of some versions a search by vector finds, up to `MAX_RESULTS`."""
    answer = collection.of(client).query.near_vector(
        near_vector=vector,
        limit=MAX_RESULTS,
        filters=Filter.by_property("version").contains_any(versions),
        return_properties=["version"],
    )
    return Counter(str(item.properties["version"]) for item in answer.objects)


def groups_of_results(expected: Mapping[str, int]) -> Iterator[list[str]]:
    """The versions in groups whose objects one query can give."""
    group: list[str] = []
    objects = 0
    for version, number in expected.items():
        if group and objects + number > MAX_RESULTS:
            yield group
            group, objects = [], 0
        group.append(version)
        objects += number
    if group:
        yield group


def best_visible(
    query: Callable[[int], list[Found]], wanted: int, visible: Collection[str], *, at_least: int = 0
) -> list[Found]:
    """The `wanted` best of visible versions, ties by id; asks for more where others are among them."""
    wanted = min(wanted, MAX_RESULTS)
    size = max(wanted, at_least)
    while True:
        found = query(size)
        kept = [item for item in found if item.version in visible]
        if len(kept) >= wanted or len(found) < size or size == MAX_RESULTS:
            return sorted(kept, key=lambda item: (-item.score, item.node_id))[:wanted]
        size = min(MAX_RESULTS, 2 * size)


def _between(start: int, end: int) -> FilterReturn:
    position = Filter.by_property("position")
    return position.greater_or_equal(start) & position.less_than(end)


def _found(properties: Properties, score: float) -> Found:
    node_id = str(properties["node"])
    return Found(node_id, str(properties.get("section", node_id)), str(properties["version"]), float(score))


def _vector(stored: Any) -> Vector | None:
    values = stored.get("default") if isinstance(stored, Mapping) else stored
    return np.asarray(values, dtype=np.float32) if values else None
