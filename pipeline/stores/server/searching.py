"""`SentenceIndex` on Weaviate."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple

from weaviate import WeaviateClient
from weaviate.classes.query import Filter, MetadataQuery

from pipeline.stores.base import (
    LEVELS,
    SENTENCES_PER_SECTION,
    Hit,
    Level,
    Manifest,
    Ranking,
    SearchRequest,
    SearchResponse,
    Vector,
    check_search,
)
from pipeline.stores.globs import Globs, as_scope, matches
from pipeline.stores.server.connections import Connections, Db
from pipeline.stores.server.index import Index, has_documents, read_index
from pipeline.stores.server.reading import MOST_RESULTS, read_records, stored_objects
from pipeline.stores.server.schema import collection_names

_CLASS = re.compile(r"\\.|\[[^\]]+\]", re.DOTALL)  # an escaped character, or a class: one character
_STARS = re.compile(r"\*+")

_EMPTY = SearchResponse((), (), (), ())


class Found(NamedTuple):
    """One object as a search found it."""

    node_id: str
    section_id: str
    source: str
    version: str
    score: float


class Query(NamedTuple):
    """One ranking to ask for: by analysed words or by vector."""

    level: Level
    limit: int
    words: str = ""
    vector: Vector | None = None


class ServerSentences:
    """Fulfils `SentenceIndex`; given a `manifest`, searching an index made otherwise raises."""

    def __init__(self, connections: Connections, manifest: Callable[[], Manifest] | None) -> None:
        self._connections = connections
        self._manifest = manifest

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        with self._connections.mongodb() as database:
            index = read_index(database)
            if index is None or not has_documents(database):
                return _EMPTY
            check_search(index.manifest, self._manifest, request)
            words = " ".join(request.terms)
            limits: dict[Level, int] = {
                "section": request.top_k,
                "sentence": request.top_k * SENTENCES_PER_SECTION,
            }
            queries = {("bm25", level): Query(level, limits[level], words=words) for level in LEVELS if words}
            if request.vector is not None:
                queries |= {
                    ("dense", level): Query(level, limits[level], vector=request.vector) for level in LEVELS
                }
            rankings = self._best(database, index, list(queries.values()), request.paths)
        found = dict(zip(queries, rankings, strict=True))
        return SearchResponse(
            *(found.get((kind, level), ()) for kind in ("bm25", "dense") for level in LEVELS)
        )

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """The vectors of sections and sentences by id."""
        with self._connections.mongodb() as database:
            found = [stored_objects(self._connections, database, level, node_ids) for level in LEVELS]
        return {node_id: one.vector for stored in found for node_id, one in stored.items()}

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """The analysed terms that no section has."""
        with self._connections.mongodb() as database:
            index = read_index(database)
            if index is None or not has_documents(database):
                return frozenset()
        queries = [Query("section", 1, words=term) for term in terms]
        found = zip(terms, self._ask(index, queries, None), strict=True)
        return frozenset(term for term, hits in found if not hits)

    def vocabulary(self, initial: str) -> Set[str]:
        """The words of what was ingested that begin with a letter, in lower case."""
        begins = {"_id": {"$gte": initial, "$lt": chr(ord(initial) + 1)}}
        with self._connections.mongodb() as database:
            return {word["_id"] for word in database["words"].find(begins)}

    def _best(
        self, database: Db, index: Index, queries: Sequence[Query], paths: Globs | None
    ) -> list[Ranking]:
        """The rankings of visible nodes below these paths.

        Hits of versions that the documents' records do not name are dropped, and so are those that only the
        wider filter found; a list that is too short then is asked for again, twice as long.
        """
        rankings: list[Ranking] = [() for _ in queries]
        waiting = {number: min(query.limit, MOST_RESULTS) for number, query in enumerate(queries)}
        while waiting:
            asked = [queries[number]._replace(limit=limit) for number, limit in waiting.items()]
            answers = dict(zip(waiting, self._ask(index, asked, paths), strict=True))
            sources = {hit.source for hits in answers.values() for hit in hits}
            records = read_records(database, sources)
            for number, hits in answers.items():
                kept = [hit for hit in hits if _is_visible(hit, records, paths)]
                wanted, limit = min(queries[number].limit, MOST_RESULTS), waiting.pop(number)
                rankings[number] = _ranking(kept)[:wanted]
                if len(kept) < wanted and len(hits) == limit < MOST_RESULTS:
                    waiting[number] = min(2 * limit, MOST_RESULTS)
        return rankings

    def _ask(self, index: Index, queries: Sequence[Query], paths: Globs | None) -> list[list[Found]]:
        """The best objects for each query, of every version, all asked at the same time."""
        names = collection_names(self._connections.addresses, index.build)
        return self._connections.weaviate(
            *(partial(_ask, name=names[query.level], query=query, paths=paths) for query in queries)
        )


def _is_visible(hit: Found, records: Mapping[str, Mapping[str, Any]], paths: Globs | None) -> bool:
    record = records.get(hit.source)
    is_current = record is not None and record["version"] == hit.version
    return is_current and (paths is None or matches(hit.source, paths))


def _ask(client: WeaviateClient, name: str, query: Query, paths: Globs | None) -> list[Found]:
    ask = client.collections.use(name).query
    properties = ["node", "version", "path", *(["section"] if query.level == "sentence" else [])]
    where = _below(paths)
    if query.vector is None:
        answer = ask.bm25(
            query=query.words,
            query_properties=["lexical"],
            limit=query.limit,
            filters=where,
            return_metadata=MetadataQuery(score=True),
            return_properties=properties,
        )
        return [_found(one.properties, one.metadata.score or 0.0) for one in answer.objects]
    answer = ask.near_vector(
        near_vector=query.vector.tolist(),
        limit=query.limit,
        filters=where,
        return_metadata=MetadataQuery(distance=True),
        return_properties=properties,
    )
    return [_found(one.properties, 1.0 - (one.metadata.distance or 0.0)) for one in answer.objects]


def _below(paths: Globs | None) -> Any:
    """A filter for the sources that globs match, and for some others: `like` knows only `*` and `?`."""
    likes = [like for glob in as_scope(paths) for like in likes_of(glob)]
    return Filter.any_of([Filter.by_property("path").like(like) for like in likes]) if likes else None


def likes_of(glob: str) -> tuple[str, str]:
    """Weaviate's patterns for at least the sources that a glob matches: as a file, and as a folder.

    >>> likes_of("systems/**/[a-c]*.md")
    ('systems/*?*.md', 'systems/*?*.md/*')
    """
    like = _CLASS.sub("?", glob.removeprefix("./").rstrip("/")).replace("**/", "*")
    like = _STARS.sub("*", like)
    return like, f"{like}/*"


def _found(properties: Mapping[str, Any], score: float) -> Found:
    node_id, source, version = (str(properties.get(name, "")) for name in ("node", "path", "version"))
    return Found(node_id, str(properties.get("section", node_id)), source, version, float(score))


def _ranking(found: Sequence[Found]) -> Ranking:
    best = sorted(found, key=lambda hit: (-hit.score, hit.node_id))
    return tuple(Hit(hit.node_id, hit.section_id, hit.score) for hit in best)
