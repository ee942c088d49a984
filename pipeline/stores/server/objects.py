"""The objects of one build in Weaviate: written and deleted until done, fetched, searched and counted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.aggregate import GroupByAggregate
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.collections import Collection as WeaviateCollection
from weaviate.collections.classes.filters import FilterReturn
from weaviate.exceptions import (
    WeaviateBatchError,
    WeaviateDeleteManyError,
    WeaviateInsertManyAllFailedError,
)

from pipeline.stores.base import LEVELS, Level, Vector
from pipeline.stores.server.mongo import chunks, in_groups
from pipeline.stores.server.schema import (
    SEARCHED,
    NodeObject,
    Properties,
    collection_name,
    create_collection,
    opened,
)
from pipeline.stores.server.servers import Servers

BATCH_OBJECTS = 400
BATCH_CHARACTERS = 4_000_000
ATTEMPTS = 4
RETRY_WAIT_S = 0.2  # doubled at each attempt

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


class Data(Protocol):
    """What of a collection's `data` writing and deleting need."""

    def insert_many(self, objects: Any) -> Any:
        """Write objects; what comes back has `errors`, by position."""

    def delete_many(self, where: Any) -> Any:
        """Delete objects; what comes back has `matches` and `successful`."""


class FoundObject(NamedTuple):
    """One found node, of the version of its document that it belongs to."""

    node_id: str
    section_id: str
    version: str
    score: float


class Fetched(NamedTuple):
    """One object with the properties that were asked for, and its vector."""

    properties: Properties
    vector: Vector


class Wanted(NamedTuple):
    """Objects of one level whose property `by` is one of the ids."""

    level: Level
    by: str
    ids: Sequence[str]
    properties: Sequence[str]


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, by words (analysed, split at blanks) or by vector, and how much of it."""

    level: Level
    limit: int
    visible: Collection[str]  # versions
    where: FilterReturn | None = None
    words: str = ""
    vector: Vector | None = None
    fresh: bool = False


class NodeObjects:
    """The two collections of one build."""

    def __init__(self, servers: Servers, *, store: str, build: str) -> None:
        self._server = servers.weaviate
        self._options = servers.addresses
        prefix = self._options.weaviate_prefix
        self._names = {level: collection_name(prefix, store, build, level) for level in LEVELS}

    def create(self) -> None:
        """Make both collections, unless they are there."""
        calls = [
            partial(create_collection, name=name, level=level, options=self._options)
            for level, name in self._names.items()
        ]
        self._server.run_all(calls)

    def drop(self) -> None:
        """Delete both collections with all that is in them."""
        self._server.run(lambda client: client.collections.delete([*self._names.values()]))

    def insert(self, objects: Mapping[Level, Sequence[NodeObject]]) -> None:
        """Write objects; those that fail are tried again, then there is a `StoreError`."""

        def write(client: WeaviateClient, level: Level, batch: Sequence[NodeObject]) -> None:
            insert_batch(self._data(client, level), batch)

        calls = [
            partial(write, level=level, batch=batch)
            for level in LEVELS
            for batch in in_batches(objects.get(level, ()))
        ]
        self._server.run_all(calls)

    def delete_versions(self, versions: Iterable[str]) -> None:
        """Delete all objects of some versions, until none is left."""

        def delete(client: WeaviateClient, level: Level, where: FilterReturn) -> None:
            delete_where(self._data(client, level), where)

        for some in chunks(versions):
            self._server.run_all([partial(delete, level=level, where=of_versions(some)) for level in LEVELS])

    def search(self, queries: Sequence[Query]) -> list[list[FoundObject]]:
        """The best nodes of visible versions for each query, ties by id; all are made at the same time."""
        return self._server.run_all([partial(self._best, query=query) for query in queries])

    def fetch(self, wanted: Sequence[Wanted]) -> list[Fetched]:
        """All objects that are meant, of every version, with their vectors; all at the same time."""
        calls = [partial(self._meant, wish=wish, ids=ids) for wish in wanted for ids in chunks(wish.ids)]
        return [item for items in self._server.run_all(calls) for item in items]

    def stored(self) -> dict[Level, Counter[str]]:
        """How many objects of each version there are, counted by the server."""

        def count(client: WeaviateClient, level: Level) -> Counter[str]:
            grouping = GroupByAggregate(prop="version", limit=MAX_VERSIONS)
            found = self._of(client, level).aggregate.over_all(group_by=grouping, total_count=True)
            return Counter({str(group.grouped_by.value): group.total_count or 0 for group in found.groups})

        counts = self._server.run_all([partial(count, level=level) for level in LEVELS])
        return dict(zip(LEVELS, counts, strict=True))

    def searchable(self, level: Level, expected: Mapping[str, int], dimensions: int) -> Counter[str]:
        """How many objects of each version a search by vector finds; `expected` says how many it should."""
        anywhere = [1.0, *[0.0] * (dimensions - 1)]

        def count(client: WeaviateClient, versions: list[str]) -> Counter[str]:
            answer = self._of(client, level).query.near_vector(
                near_vector=anywhere,
                limit=MAX_RESULTS,
                filters=of_versions(versions),
                return_properties=["version"],
            )
            return Counter(str(item.properties["version"]) for item in answer.objects)

        groups = in_groups(expected.items(), size_of=lambda item: item[1], most=MAX_RESULTS)
        calls = [partial(count, versions=[version for version, _ in group]) for group in groups]
        return sum(self._server.run_all(calls), Counter())

    def _best(self, client: WeaviateClient, query: Query) -> list[FoundObject]:
        ask = partial(_ask, self._of(client, query.level), query)
        at_least = FRESH_RESULTS if query.fresh and query.vector is None else 0
        return best_visible(ask, query.limit, query.visible, at_least=at_least)

    def _meant(self, client: WeaviateClient, wish: Wanted, ids: list[str]) -> list[Fetched]:
        """All objects whose property is one of the ids, however many."""
        fetch = partial(_fetch, self._of(client, wish.level), wish.properties)
        where = Filter.by_property(wish.by).contains_any(ids)
        found = fetch(where)
        if len(found) < MAX_RESULTS:
            return found
        if len(ids) > 1:  # more than one query gives: half the ids at a time
            half = len(ids) // 2
            return self._meant(client, wish, ids[:half]) + self._meant(client, wish, ids[half:])
        found, start = [], 0
        while page := fetch(where & _between(start, start + PAGE)):
            found += page
            start += PAGE
        return found

    def _of(self, client: WeaviateClient, level: Level) -> WeaviateCollection[Any, Any]:
        return opened(client, self._names[level], self._options.weaviate_tenant)

    def _data(self, client: WeaviateClient, level: Level) -> Data:
        collection = self._of(client, level)
        if self._options.weaviate_replicas > 1:  # a search asks one copy: it must have what is shown
            collection = collection.with_consistency_level(ConsistencyLevel.ALL)
        return collection.data


def in_batches(objects: Sequence[NodeObject]) -> Iterator[list[NodeObject]]:
    """The objects in batches that are not too large for one call."""

    def size_of(item: NodeObject) -> int:
        return len(item.properties[SEARCHED]) + len(item.properties.get("text", ""))

    for some in chunks(objects, BATCH_OBJECTS):
        yield from in_groups(some, size_of=size_of, most=BATCH_CHARACTERS)


def insert_batch(data: Data, objects: Sequence[NodeObject]) -> None:
    """Write one batch; failed objects are tried again, then there is a `WeaviateBatchError`."""
    waiting = list(objects)
    message = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(RETRY_WAIT_S * 2**attempt)
        failed = _failures(data, waiting)
        if not failed:
            return
        message = str(next(iter(failed.values())))
        waiting = [waiting[position] for position in sorted(failed)]
    raise WeaviateBatchError(f"{len(waiting)} of {len(objects)} objects, tried {ATTEMPTS} times: {message}")


def delete_where(data: Data, where: FilterReturn) -> None:
    """Delete what a filter means until none is left."""
    idle = 0
    while True:
        result = data.delete_many(where=where)
        if result.matches == 0:
            return
        idle = 0 if result.successful else idle + 1
        if idle == ATTEMPTS:
            # It could say why, but Weaviate 1.36 fails in saying so. What is known to do this:
            likely = "as they do where it is read-only"
            raise WeaviateDeleteManyError(f"{result.matches} objects stay, tried {ATTEMPTS} times, {likely}")
        if idle:
            time.sleep(RETRY_WAIT_S * 2**idle)


def best_visible(
    query: Callable[[int], list[FoundObject]], wanted: int, visible: Collection[str], *, at_least: int = 0
) -> list[FoundObject]:
    """The `wanted` best of visible versions, ties by id; asks for more where others are among them."""
    wanted = min(wanted, MAX_RESULTS)
    size = max(wanted, at_least)
    while True:
        found = query(size)
        kept = [item for item in found if item.version in visible]
        if len(kept) >= wanted or len(found) < size or size == MAX_RESULTS:
            return sorted(kept, key=lambda item: (-item.score, item.node_id))[:wanted]
        size = min(MAX_RESULTS, 2 * size)


def _ask(collection: WeaviateCollection[Any, Any], query: Query, size: int) -> list[FoundObject]:
    """The best `size` by words, or the nearest by cosine, of every version."""
    if query.vector is None:
        by_words = collection.query.bm25(
            query=query.words,
            query_properties=[SEARCHED],
            limit=size,
            filters=query.where,
            return_metadata=MetadataQuery(score=True),
            return_properties=_IDS[query.level],
        )
        return [_found(item.properties, item.metadata.score or 0.0) for item in by_words.objects]
    nearest = collection.query.near_vector(
        near_vector=query.vector.tolist(),
        limit=size,
        filters=query.where,
        return_metadata=MetadataQuery(distance=True),
        return_properties=_IDS[query.level],
    )
    return [_found(item.properties, 1.0 - (item.metadata.distance or 0.0)) for item in nearest.objects]


def _found(properties: Properties, score: float) -> FoundObject:
    node_id = str(properties["node"])
    return FoundObject(
        node_id, str(properties.get("section", node_id)), str(properties["version"]), float(score)
    )


def _fetch(
    collection: WeaviateCollection[Any, Any], properties: Sequence[str], where: FilterReturn
) -> list[Fetched]:
    answer = collection.query.fetch_objects(
        filters=where, limit=MAX_RESULTS, include_vector=True, return_properties=list(properties)
    )
    return [
        Fetched(item.properties, np.asarray(item.vector["default"], dtype=np.float32))
        for item in answer.objects
        if item.vector
    ]


def _failures(data: Data, objects: Sequence[NodeObject]) -> dict[int, str]:
    """The messages of objects that were not written, by position."""
    try:
        result = data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:
        return dict.fromkeys(range(len(objects)), error.message.rpartition("errors: ")[2])
    return {position: error.message for position, error in result.errors.items()}


def of_versions(versions: Sequence[str]) -> FilterReturn:
    """The filter for the objects of some versions."""
    return Filter.by_property("version").contains_any(list(versions))


def _between(start: int, end: int) -> FilterReturn:
    position = Filter.by_property("position")
    return position.greater_or_equal(start) & position.less_than(end)
