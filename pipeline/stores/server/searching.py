"""The search in Weaviate, by BM25 and by vector."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from weaviate import WeaviateClient
from weaviate.classes.query import Filter, MetadataQuery

from pipeline.stores.base import LEVELS, Hit, Level, Ranking, SearchRequest, SearchResponse, Vector
from pipeline.stores.globs import Globs, as_scope, matches
from pipeline.stores.server.connections import Connections, Db
from pipeline.stores.server.index import Index
from pipeline.stores.server.reading import MOST_RESULTS, read_with_versions
from pipeline.stores.server.schema import collection_names

_CLASS = re.compile(r"\\.|\[[^\]]+\]", re.DOTALL)  # an escaped character, or a class: one character
_STARS = re.compile(r"\*+")


class Found(NamedTuple):
    """One object as a search found it."""

    hit: Hit
    source: str
    version: str


class Query(NamedTuple):
    """One ranking to ask for: by analysed words or by vector."""

    level: Level
    limit: int
    words: str = ""
    vector: Vector | None = None


def search(connections: Connections, database: Db, index: Index, request: SearchRequest) -> SearchResponse:
    """Search sections and sentences by BM25 and by vector; a list that is not asked for is empty."""
    words, limits = " ".join(request.terms), request.limits
    queries = {("bm25", level): Query(level, limits[level], words=words) for level in LEVELS if words}
    if request.vector is not None:
        queries |= {("dense", level): Query(level, limits[level], vector=request.vector) for level in LEVELS}
    rankings = _best(connections, database, index, list(queries.values()), request.paths)
    found = dict(zip(queries, rankings, strict=True))
    return SearchResponse(*(found.get((kind, level), ()) for kind in ("bm25", "dense") for level in LEVELS))


def _best(
    connections: Connections, database: Db, index: Index, queries: Sequence[Query], paths: Globs | None
) -> list[Ranking]:
    """Return the ranking of visible nodes in these paths for each query.

    Hits of versions that are not visible are dropped, and so are hits that only Weaviate's wider path filter
    found. If a list is then too short, all queries are sent again, with twice the limit.
    """
    factor = 1
    while True:
        asked = [query._replace(limit=min(factor * query.limit, MOST_RESULTS)) for query in queries]
        answers, versions = read_with_versions(
            connections,
            database,
            partial(ask_all, connections, index, asked, paths),
            lambda found: {one.source for some in found for one in some},
        )
        rankings, is_short = [], False
        for query, found, (_, limit, *_) in zip(queries, answers, asked, strict=True):
            visible = [one for one in found if versions.get(one.source) == one.version]
            hits = [one.hit for one in visible if paths is None or matches(one.source, paths)]
            hits.sort(key=lambda hit: (-hit.score, hit.node_id))
            rankings.append(tuple(hits[: query.limit]))
            is_short |= len(hits) < query.limit and len(found) == limit < MOST_RESULTS
        if not is_short:
            return rankings
        factor *= 2


def ask_all(
    connections: Connections, index: Index, queries: Sequence[Query], paths: Globs | None
) -> list[list[Found]]:
    """Return the best objects for each query, also of versions that are not visible; one call per query."""
    names = collection_names(connections.addresses, index.build)
    return connections.weaviate(
        *(partial(_ask, name=names[query.level], query=query, paths=paths) for query in queries)
    )


def _ask(client: WeaviateClient, name: str, query: Query, paths: Globs | None) -> list[Found]:
    ask = client.collections.use(name).query
    properties = ["node", "version", "path", *(["section"] if query.level == "sentence" else [])]
    # Matches the sources that the globs match, and some others: `like` has only `*` and `?`.
    below = [Filter.by_property("path").like(like) for glob in as_scope(paths) for like in likes_of(glob)]
    wanted: dict[str, Any] = {
        "limit": query.limit,
        "filters": Filter.any_of(below) if below else None,
        "return_metadata": MetadataQuery(score=True, distance=True),
        "return_properties": properties,
    }
    if query.vector is None:
        found = ask.bm25(query=query.words, query_properties=["lexical"], **wanted)
        return [_found(one.properties, one.metadata.score or 0.0) for one in found.objects]
    near = ask.near_vector(near_vector=query.vector.tolist(), **wanted)
    return [_found(one.properties, 1.0 - (one.metadata.distance or 0.0)) for one in near.objects]


def likes_of(glob: str) -> tuple[str, str]:
    """Return Weaviate's patterns for at least the sources that a glob matches: as a file, and as a folder.

    >>> likes_of("systems/**/[a-c]*.md")
    ('systems/*?*.md', 'systems/*?*.md/*')
    """
    like = _CLASS.sub("?", glob.removeprefix("./").rstrip("/")).replace("**/", "*")
    like = _STARS.sub("*", like)
    return like, f"{like}/*"


def _found(properties: Mapping[str, Any], score: float) -> Found:
    node_id, source, version = (str(properties.get(name, "")) for name in ("node", "path", "version"))
    return Found(Hit(node_id, str(properties.get("section", node_id)), float(score)), source, version)
