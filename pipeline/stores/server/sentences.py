"""`SentenceIndex` on Weaviate."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from weaviate import WeaviateClient
from weaviate.classes.query import Filter, MetadataQuery

from pipeline.nodes import StoredNode
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
)
from pipeline.stores.globs import Globs, as_scope, matches
from pipeline.stores.manifest import check_search
from pipeline.stores.metadata import read_sentence
from pipeline.stores.server.connections import Db, in_parts
from pipeline.stores.server.index import Index, has_documents
from pipeline.stores.server.records import read_records
from pipeline.stores.server.schema import collection_names
from pipeline.stores.server.sections import Reader, current, read_sections, sort_out
from pipeline.stores.vocabulary import count_words

MOST_RESULTS = 10_000
"""Weaviate's default QUERY_MAXIMUM_RESULTS: the most objects that a query returns."""

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


class Fetched(NamedTuple):
    """One object with its properties, and its vector as it was written."""

    properties: Mapping[str, Any]
    vector: Vector


class ServerSentences:
    """Fulfils `SentenceIndex`; given a `manifest`, searching an index made otherwise raises."""

    def __init__(self, reader: Reader, manifest: Manifest | None) -> None:
        self._reader = reader
        self._manifest = manifest

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        return self._reader.read(lambda database, index: self._search(database, index, request), _EMPTY)

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections, in one call."""

        def read(database: Db, index: Index) -> dict[str, StoredNode]:
            whole = read_sections(database, index, sections)
            wanted = [*node_ids, *(id_ for section in whole.values() for id_ in section.sentence_ids)]
            found = self._fetch(database, index, ("sentence",), wanted)
            unread = {one.properties["section"] for one in found.values()} - whole.keys()
            whole |= read_sections(database, index, unread)
            return {
                id_: _sentence(found[id_].properties, whole)
                for id_ in wanted
                if id_ in found and found[id_].properties["section"] in whole
            }

        return self._reader.read(read, {})

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""

        def read(database: Db, index: Index) -> dict[str, Vector]:
            found = self._fetch(database, index, LEVELS, node_ids)
            return {node_id: one.vector for node_id, one in found.items()}

        return self._reader.read(read, {})

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of some analysed terms that no node has; a term just removed may still count as there."""

        def read(database: Db, index: Index) -> frozenset[str]:
            if not has_documents(database, index.build):
                return frozenset()
            queries = [Query(level, 1, words=term) for term in terms for level in LEVELS]
            found = zip(queries, self._ask(index, queries, None), strict=True)
            return frozenset(terms) - {query.words for query, hits in found if hits}

        return self._reader.read(read, frozenset())

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""

        def read(database: Db, index: Index) -> Mapping[str, int]:
            rows = database[f"sections_{index.build}"].find({}, {"metadata": 1, "text": 1})
            return count_words(
                f"{' '.join(json.loads(row['metadata'])['heading_path'])}\n{row['text']}" for row in rows
            )

        return self._reader.read(read, {})

    def _search(self, database: Db, index: Index, request: SearchRequest) -> SearchResponse:
        if not has_documents(database, index.build):
            return _EMPTY
        check_search(index.manifest, self._manifest, request)
        words = " ".join(request.terms)
        limits = {"section": request.top_k, "sentence": request.top_k * SENTENCES_PER_SECTION}
        queries: dict[tuple[str, Level], Query] = {}
        for level in LEVELS:
            if words:
                queries["bm25", level] = Query(level, limits[level], words=words)
            if request.vector is not None:
                queries["dense", level] = Query(level, limits[level], vector=request.vector)
        rankings = self._best(database, index, list(queries.values()), request.paths)
        found = dict(zip(queries, rankings, strict=True))
        return SearchResponse(
            bm25_sections=found.get(("bm25", "section"), ()),
            bm25_sentences=found.get(("bm25", "sentence"), ()),
            dense_sections=found.get(("dense", "section"), ()),
            dense_sentences=found.get(("dense", "sentence"), ()),
        )

    def _best(
        self, database: Db, index: Index, queries: Sequence[Query], paths: Globs | None
    ) -> list[Ranking]:
        """The rankings of visible nodes below these paths; asks again, for more, where others were found."""
        rankings: list[Ranking] = [() for _ in queries]
        waiting = {number: min(query.limit, MOST_RESULTS) for number, query in enumerate(queries)}
        again = True
        while waiting:
            asked = [queries[number]._replace(limit=limit) for number, limit in waiting.items()]
            answers = dict(zip(waiting, self._ask(index, asked, paths), strict=True))
            records = read_records(
                database, index.build, {one.source for hits in answers.values() for one in hits}
            )
            for number, hits in answers.items():
                kept, replaced = sort_out(hits, records, lambda hit: (hit.source, hit.version))
                kept = [hit for hit in kept if paths is None or matches(hit.source, paths)]
                wanted, limit = min(queries[number].limit, MOST_RESULTS), waiting[number]
                if replaced and again:
                    continue
                if len(kept) >= wanted or len(hits) < limit or limit == MOST_RESULTS:
                    rankings[number] = _ranking(kept)[:wanted]
                    del waiting[number]
                else:
                    waiting[number] = min(2 * limit, MOST_RESULTS)
            again = False
        return rankings

    def _ask(self, index: Index, queries: Sequence[Query], paths: Globs | None) -> list[list[Found]]:
        """The best objects for each query, of every version, all asked at the same time."""
        names = collection_names(self._reader.connections.addresses, index.build)
        return self._reader.connections.weaviate(
            *(partial(_ask, name=names[query.level], query=query, paths=paths) for query in queries)
        )

    def _fetch(
        self, database: Db, index: Index, levels: Sequence[Level], node_ids: Collection[str]
    ) -> dict[str, Fetched]:
        """The visible objects of some nodes, by id."""
        names = collection_names(self._reader.connections.addresses, index.build)

        def fetch() -> list[Fetched]:
            calls = [
                partial(_fetch, name=names[level], ids=ids)
                for level in levels
                for ids in in_parts(dict.fromkeys(node_ids))
            ]
            return [one for found in self._reader.connections.weaviate(*calls) for one in found]

        def place(one: Fetched) -> tuple[str, str]:
            return str(one.properties.get("path", "")), str(one.properties.get("version", ""))

        found, _ = current(database, index, fetch, place)
        return {one.properties["node"]: one for one in found}


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


def _fetch(client: WeaviateClient, name: str, ids: Sequence[str]) -> list[Fetched]:
    answer = client.collections.use(name).query.fetch_objects(
        filters=Filter.by_property("node").contains_any(list(ids)), limit=MOST_RESULTS, include_vector=True
    )
    return [
        Fetched(one.properties, np.asarray(one.vector["default"], dtype=np.float32)) for one in answer.objects
    ]


def _sentence(properties: Mapping[str, Any], sections: Mapping[str, StoredNode]) -> StoredNode:
    section = sections[properties["section"]]
    start, end = properties.get("start"), properties.get("end")
    return StoredNode(
        node_id=properties["node"],
        text=properties["text"],
        metadata=read_sentence(section.metadata, properties["metadata"]),
        start_char_idx=None if start is None else int(start),
        end_char_idx=None if end is None else int(end),
        document_id=section.document_id,
        section_id=section.node_id,
    )
