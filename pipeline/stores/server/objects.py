"""The objects of one build in Weaviate: written, deleted, fetched and searched, many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from weaviate import WeaviateClient
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter
from weaviate.collections.classes.filters import FilterReturn

from pipeline.stores.base import LEVELS, Level, Vector
from pipeline.stores.server.batches import Batches, NodeObject, delete_where, in_batches, insert_batch
from pipeline.stores.server.mongo import chunks
from pipeline.stores.server.queries import (
    FRESH_RESULTS,
    Fetch,
    Fetched,
    Found,
    Search,
    count_near,
    count_stored,
    groups_of_results,
)
from pipeline.stores.server.schema import Place, collection_name, create_collection
from pipeline.stores.server.servers import Servers


class Wanted(NamedTuple):
    """Objects of one level whose property `by` is one of the ids."""

    level: Level
    by: str
    ids: Sequence[str]
    properties: Sequence[str]
    with_vectors: bool = False


class NodeObjects:
    """The two collections of one build."""

    def __init__(self, servers: Servers, *, store: str, build: str) -> None:
        self._server = servers.weaviate
        self._options = servers.addresses
        prefix, tenant = self._options.weaviate_prefix, self._options.weaviate_tenant
        self._places = {
            level: Place(collection_name(prefix, store, build, level), tenant) for level in LEVELS
        }

    def create(self) -> None:
        """Make both collections, unless they are there."""
        calls = [
            partial(create_collection, place=place, level=level, options=self._options)
            for level, place in self._places.items()
        ]
        self._server.run_all(calls)

    def drop(self) -> None:
        """Delete both collections with all that is in them."""
        self._server.run(
            lambda client: client.collections.delete([place.name for place in self._places.values()])
        )

    def insert(self, objects: Mapping[Level, Sequence[NodeObject]]) -> None:
        """Write objects; those that fail are tried again, then there is a `StoreError`."""

        def writing(level: Level, batch: Sequence[NodeObject]) -> Callable[[WeaviateClient], None]:
            return lambda client: insert_batch(self._data(client, level), batch)

        calls = [writing(level, batch) for level in LEVELS for batch in in_batches(objects.get(level, ()))]
        self._server.run_all(calls)

    def delete_versions(self, versions: Iterable[str]) -> None:
        """Delete all objects of some versions, until none is left."""
        for some in chunks(versions):
            where = Filter.by_property("version").contains_any(some)

            def deleting(level: Level, where: FilterReturn = where) -> Callable[[WeaviateClient], None]:
                return lambda client: delete_where(self._data(client, level), where)

            self._server.run_all([deleting(level) for level in LEVELS])

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
            query = Search(self._places[level], level, limits[level], visible, where)
            if terms:
                ways["bm25", level] = partial(
                    query.bm25, words=" ".join(terms), at_least=FRESH_RESULTS * fresh
                )
            if vector is not None:
                ways["dense", level] = partial(query.dense, vector=vector.tolist())
        return dict(zip(ways, self._server.run_all(list(ways.values())), strict=True))

    def lacking(self, terms: Collection[str], *, visible: Collection[str], fresh: bool) -> frozenset[str]:
        """Those of some terms that no node of a visible version has; all are looked for at the same time."""
        looks = [(term, level) for term in terms for level in LEVELS]
        calls = [
            partial(
                Search(self._places[level], level, 1, visible, None).bm25,
                words=term,
                at_least=FRESH_RESULTS * fresh,
            )
            for term, level in looks
        ]
        found = zip(looks, self._server.run_all(calls), strict=True)
        return frozenset(terms) - {term for (term, _), nodes in found if nodes}

    def fetch(self, wanted: Sequence[Wanted]) -> list[list[Fetched]]:
        """For each wish all objects that it means, of every version; all at the same time."""
        calls: list[Callable[[WeaviateClient], list[Fetched]]] = []
        wishes: list[int] = []
        for number, wish in enumerate(wanted):
            query = Fetch(self._places[wish.level], list(wish.properties), wish.with_vectors)
            for ids in chunks(wish.ids):
                calls.append(partial(query.by_ids, by=wish.by, ids=ids))
                wishes.append(number)
        found: list[list[Fetched]] = [[] for _ in wanted]
        for number, items in zip(wishes, self._server.run_all(calls), strict=True):
            found[number] += items
        return found

    def stored(self) -> dict[Level, Counter[str]]:
        """How many objects of each version there are."""
        calls = [partial(count_stored, collection=self._places[level]) for level in LEVELS]
        return dict(zip(LEVELS, self._server.run_all(calls), strict=True))

    def searchable(self, level: Level, expected: Mapping[str, int], dimensions: int) -> Counter[str]:
        """How many objects of each version a search by vector finds; `expected` says how many it should."""
        anywhere = [1.0, *[0.0] * (dimensions - 1)]
        calls = [
            partial(count_near, collection=self._places[level], versions=versions, vector=anywhere)
            for versions in groups_of_results(expected)
        ]
        return sum(self._server.run_all(calls), Counter())

    def _data(self, client: WeaviateClient, level: Level) -> Batches:
        collection = self._places[level].of(client)
        if self._options.weaviate_replicas > 1:  # a search asks one copy: it must have what is shown
            collection = collection.with_consistency_level(ConsistencyLevel.ALL)
        return collection.data
