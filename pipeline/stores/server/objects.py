"""The objects of one build in Weaviate: written, deleted, fetched and searched, many at once."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.data import DataObject
from weaviate.classes.query import Filter, MetadataQuery
from weaviate.collections.classes.filters import FilterReturn
from weaviate.exceptions import (
    WeaviateBatchError,
    WeaviateDeleteManyError,
    WeaviateInsertManyAllFailedError,
)

from pipeline.stores.base import Level, Vector
from pipeline.stores.server.mongo import chunks
from pipeline.stores.server.schema import LEVELS, SEARCHED, collection_name, create_collection
from pipeline.stores.server.weaviate import WeaviateServer

MAX_RESULTS = 10_000
"""Weaviate's QUERY_MAXIMUM_RESULTS: what one query gives, and one deletion takes, at most."""

FRESH_RESULTS = 1000
"""Asked for by words where something is still in Weaviate's memory: there (1.36) it passes over matches as
soon as it has as many as are asked for. SciFact's sections, just written: overlap of the first ten with
tantivy's .82 to .95 asking for 100, .97 to .98 asking for 1,000, as on disk."""

BATCH_OBJECTS = 400
BATCH_CHARACTERS = 4_000_000
ATTEMPTS = 4
RETRY_WAIT_S = 0.2  # doubled at each attempt
FETCHED_IDS = 1000
PAGE = 1000  # sentences of one section, where it has more than a query gives

_IDS: Mapping[Level, list[str]] = {
    "section": ["node", "version"],
    "sentence": ["node", "version", "section"],
}

_NAMESPACE = uuid.UUID("5b0d3a8e-95f4-4f0d-8f0b-0f6b5f2e9a11")

Properties = Mapping[str, Any]
NodeObject = DataObject[Properties, None]


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


class Batches(Protocol):
    """What of a collection's `data` writing and deleting need."""

    def insert_many(self, objects: Any) -> Any:
        """Write objects; what comes back has `errors`, by position."""

    def delete_many(self, where: Any) -> Any:
        """Delete objects; what comes back has `matches` and `successful`."""


class NodeObjects:
    """The two collections of one build."""

    def __init__(self, server: WeaviateServer, *, prefix: str, store: str, build: str) -> None:
        self._server = server
        self._names = {level: collection_name(prefix, store, build, level) for level in LEVELS}

    def create(self) -> None:
        """Make both collections, unless they are there."""
        calls = [partial(create_collection, name=name, level=level) for level, name in self._names.items()]
        self._server.run_all(calls)

    def drop(self) -> None:
        """Delete both collections with all that is in them."""
        self._server.run(lambda client: client.collections.delete(list(self._names.values())))

    def insert(self, objects: Mapping[Level, Sequence[NodeObject]]) -> None:
        """Write objects; those that fail are tried again, then there is a `StoreError`."""

        def writing(level: Level, batch: Sequence[NodeObject]) -> Callable[[WeaviateClient], None]:
            return lambda client: insert_batch(self._data(client, level), batch)

        calls = [writing(level, batch) for level in LEVELS for batch in _batches(objects.get(level, ()))]
        self._server.run_all(calls)

    def delete_versions(self, versions: Iterable[str]) -> int:
        """Delete all objects of some versions, until none is left; how many there were."""
        deleted = 0
        for some in chunks(versions):
            where = Filter.by_property("version").contains_any(some)

            def deleting(level: Level, where: FilterReturn = where) -> Callable[[WeaviateClient], int]:
                return lambda client: delete_where(self._data(client, level), where)

            deleted += sum(self._server.run_all([deleting(level) for level in LEVELS]))
        return deleted

    def search(
        self,
        *,
        terms: Sequence[str],
        vector: Vector | None,
        limits: Mapping[Level, int],
        visible: Collection[str],
        versions: Sequence[str] | None,
        fresh: bool,
    ) -> dict[tuple[str, Level], list[Found]]:
        """The best nodes of visible versions by words and by vector, a list a way and level.

        `versions` limits the search to those; `fresh` says that some were written only just now. All
        queries are made at the same time.
        """
        where = None if versions is None else Filter.by_property("version").contains_any(list(versions))
        ways: dict[tuple[str, Level], Callable[[WeaviateClient], list[Found]]] = {}
        for level in LEVELS:
            query = _Search(self._names[level], level, limits[level], visible, where)
            if terms:
                ways["bm25", level] = partial(
                    query.bm25, words=" ".join(terms), at_least=FRESH_RESULTS * fresh
                )
            if vector is not None:
                ways["dense", level] = partial(query.dense, vector=vector.tolist())
        return dict(zip(ways, self._server.run_all(list(ways.values())), strict=True))

    def fetch_levels(
        self,
        levels: Sequence[Level],
        by: str,
        ids: Iterable[str],
        *,
        properties: Sequence[str],
        with_vectors: bool = False,
    ) -> list[Fetched]:
        """All objects whose property `by` is one of some ids, of every version, a query a thousand ids."""

        def fetching(level: Level, some: list[str]) -> Callable[[WeaviateClient], list[Fetched]]:
            query = _Query(self._names[level], list(properties), with_vectors)
            return lambda client: query.fetch(client, by, some)

        calls = [fetching(level, some) for some in chunks(ids, FETCHED_IDS) for level in levels]
        return [item for found in self._server.run_all(calls) for item in found]

    def counts(self) -> dict[Level, dict[str, int]]:
        """How many objects of each version there are."""

        def count(level: Level) -> Callable[[WeaviateClient], dict[str, int]]:
            def counting(client: WeaviateClient) -> dict[str, int]:
                counted: dict[str, int] = {}
                collection = client.collections.use(self._names[level])
                for item in collection.iterator(return_properties=["version"], cache_size=1000):
                    version = str(item.properties["version"])
                    counted[version] = counted.get(version, 0) + 1
                return counted

            return counting

        return dict(zip(LEVELS, self._server.run_all([count(level) for level in LEVELS]), strict=True))

    def searchable(self, level: Level, expected: Mapping[str, int], dimensions: int) -> Counter[str]:
        """How many objects of each version a search by vector can find; `expected` says about how many.

        After a crash, Weaviate (1.36) may lack the last entries of its index of vectors, and does not say so.
        """
        anywhere = [1.0, *[0.0] * (dimensions - 1)]

        def count(versions: list[str]) -> Callable[[WeaviateClient], Counter[str]]:
            def counting(client: WeaviateClient) -> Counter[str]:
                answer = client.collections.use(self._names[level]).query.near_vector(
                    near_vector=anywhere,
                    limit=MAX_RESULTS,
                    filters=Filter.by_property("version").contains_any(versions),
                    return_properties=["version"],
                )
                return Counter(str(item.properties["version"]) for item in answer.objects)

            return counting

        counted: Counter[str] = Counter()
        for some in self._server.run_all([count(group) for group in _groups(expected)]):
            counted.update(some)
        return counted

    def _data(self, client: WeaviateClient, level: Level) -> Batches:
        return client.collections.use(self._names[level], skip_argument_validation=True).data


@dataclass(frozen=True, slots=True)
class _Search:
    """What is searched, and how much of it is wanted."""

    collection: str
    level: Level
    limit: int
    visible: Collection[str]
    where: FilterReturn | None

    def bm25(self, client: WeaviateClient, *, words: str, at_least: int = 0) -> list[Found]:
        """The best by words, which are only split at blanks."""
        query = client.collections.use(self.collection).query

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
        query = client.collections.use(self.collection).query

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
class _Query:
    """What is fetched of a collection's objects."""

    collection: str
    properties: list[str]
    with_vectors: bool

    def fetch(self, client: WeaviateClient, by: str, ids: list[str]) -> list[Fetched]:
        """All objects whose property `by` is one of the ids, however many."""
        where = Filter.by_property(by).contains_any(ids)
        found = self._fetch(client, where)
        if len(found) < MAX_RESULTS:
            return found
        if len(ids) > 1:  # more than one query gives: half the ids at a time
            half = len(ids) // 2
            return self.fetch(client, by, ids[:half]) + self.fetch(client, by, ids[half:])
        found, start = [], 0
        while page := self._fetch(client, where & _between(start, start + PAGE)):
            found += page
            start += PAGE
        return found

    def _fetch(self, client: WeaviateClient, where: FilterReturn) -> list[Fetched]:
        answer = client.collections.use(self.collection).query.fetch_objects(
            filters=where,
            limit=MAX_RESULTS,
            include_vector=self.with_vectors,
            return_properties=self.properties,
        )
        return [Fetched(item.properties, _vector(item.vector)) for item in answer.objects]


def object_id(version: str, node_id: str) -> uuid.UUID:
    """The id of an object: written again, it takes the place of itself."""
    return uuid.uuid5(_NAMESPACE, f"{version}/{node_id}")


def insert_batch(data: Batches, objects: Sequence[NodeObject]) -> None:
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


def delete_where(data: Batches, where: FilterReturn) -> int:
    """Delete what a filter means until none is left; how many there were."""
    deleted = idle = 0
    while True:
        result = data.delete_many(where=where)
        if result.matches == 0:
            return deleted
        deleted += result.successful
        idle = 0 if result.successful else idle + 1
        if idle == ATTEMPTS:
            raise WeaviateDeleteManyError(f"{result.matches} objects stay, tried {ATTEMPTS} times")
        if idle:
            time.sleep(RETRY_WAIT_S * 2**idle)


def _failures(data: Batches, objects: Sequence[NodeObject]) -> dict[int, str]:
    """The messages of objects that were not written, by position."""
    try:
        result = data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:
        return dict.fromkeys(range(len(objects)), error.message.rpartition("errors: ")[2])
    return {position: error.message for position, error in result.errors.items()}


def _batches(objects: Sequence[NodeObject]) -> Iterator[list[NodeObject]]:
    batch: list[NodeObject] = []
    characters = 0
    for item in objects:
        size = len(item.properties[SEARCHED]) + len(item.properties.get("text", ""))
        if batch and (len(batch) == BATCH_OBJECTS or characters + size > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(item)
        characters += size
    if batch:
        yield batch


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


def _groups(expected: Mapping[str, int]) -> Iterator[list[str]]:
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


def _between(start: int, end: int) -> FilterReturn:
    position = Filter.by_property("position")
    return position.greater_or_equal(start) & position.less_than(end)


def _found(properties: Properties, score: float) -> Found:
    node_id = str(properties["node"])
    return Found(node_id, str(properties.get("section", node_id)), str(properties["version"]), float(score))


def _vector(stored: Any) -> Vector | None:
    values = stored.get("default") if isinstance(stored, Mapping) else stored
    return np.asarray(values, dtype=np.float32) if values else None
