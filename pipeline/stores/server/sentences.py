"""`SentenceIndex` on Weaviate."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from pipeline.analysis import analyse
from pipeline.errors import StoreDamaged
from pipeline.nodes import StoredNode, by_section
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
from pipeline.stores.globs import Globs, matches
from pipeline.stores.manifest import check_search
from pipeline.stores.metadata import read_sentence
from pipeline.stores.server.objects import NodeObjects, Wanted
from pipeline.stores.server.queries import Fetched, Found
from pipeline.stores.server.records import read_sections
from pipeline.stores.server.sections import ServerSections
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Snapshot, Snapshots
from pipeline.stores.server.version_cache import LeafCache, Leaves
from pipeline.stores.vocabulary import KeptVocabulary

SENTENCE_PROPERTIES = ("node", "version", "section", "position", "start", "end", "metadata", "text")

FRESH_S = 90.0
"""Weaviate keeps what is new in memory for up to 60 seconds, unless it is told to write it sooner."""

_EMPTY = SearchResponse((), (), (), ())


class ServerSentences:
    """The leaves and their vectors, and the search over both levels, of the visible build."""

    def __init__(
        self,
        servers: Servers,
        snapshots: Snapshots,
        *,
        sections: ServerSections,
        manifest: Manifest | None,
    ) -> None:
        self._servers = servers
        self._sections = sections
        self._snapshots = snapshots
        self._manifest = manifest
        self._leaves = LeafCache()
        self._vocabulary = KeptVocabulary()
        self._terms: tuple[tuple[str, str | None, int] | None, frozenset[str]] = None, frozenset()

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        return self._snapshots.read(lambda snapshot: self._search(snapshot, request))

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections, in one call.

        The vectors of whole sections are fetched and
        kept with them: whoever wants all sentences compares them.
        """

        def nodes(found: Iterable[Fetched], snapshot: Snapshot) -> dict[str, StoredNode]:
            return {str(item.properties["node"]): _sentence(item, snapshot) for item in found}

        def remember(snapshot: Snapshot) -> dict[str, StoredNode] | None:
            kept = self._leaves.get_many(node_ids, snapshot.documents)
            whole = self._leaves.of_sections(sections, snapshot.documents)
            if len(kept) < len(set(node_ids)) or len(whole) < len(set(sections)):
                return None
            return nodes([*kept.values(), *_all(whole)], snapshot)

        def read(snapshot: Snapshot) -> dict[str, StoredNode]:
            kept = self._leaves.get_many(node_ids, snapshot.documents)
            whole = self._leaves.of_sections(sections, snapshot.documents)
            missing = [node_id for node_id in node_ids if node_id not in kept]
            unread = [section_id for section_id in sections if section_id not in whole]
            found, leaves = self._fetch(
                snapshot,
                Wanted("sentence", "node", missing, SENTENCE_PROPERTIES),
                Wanted("sentence", "section", unread, SENTENCE_PROPERTIES, with_vectors=True),
            )
            fetched = _by_section(self._named(snapshot, leaves))
            self._leaves.put(fetched)
            found = self._named(snapshot, found)
            return nodes([*kept.values(), *found, *_all(whole), *_all(fetched)], snapshot)

        return self._snapshots.recall(remember, read)

    def of_sections(self, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
        """All sentences of some sections, in reading order, in one call."""
        return by_section(self.get_many((), sections=section_ids).values())

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""

        def remember(snapshot: Snapshot) -> dict[str, Vector] | None:
            kept = self._leaves.get_many(node_ids, snapshot.documents)
            return _vectors(kept.values()) if len(kept) == len(set(node_ids)) else None

        def read(snapshot: Snapshot) -> dict[str, Vector]:
            kept = self._leaves.get_many(node_ids, snapshot.documents)
            missing = [node_id for node_id in node_ids if node_id not in kept]
            wanted = (
                Wanted(level, "node", missing, ("node", "version"), with_vectors=True) for level in LEVELS
            )
            return _vectors([*kept.values(), *chain.from_iterable(self._fetch(snapshot, *wanted))])

        return self._snapshots.recall(remember, read)

    def count(self) -> int:
        """How many sentences are indexed."""
        return self._snapshots.recall(_count, _count)

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of some analysed terms that no node has: told by the vocabulary where it is known."""

        def remember(snapshot: Snapshot) -> frozenset[str] | None:
            if self._terms[0] != _state(snapshot) or any(map(_has_digit, terms)):
                return None  # the vocabulary has no word with a digit
            return frozenset(terms) - self._terms[1]

        def read(snapshot: Snapshot) -> frozenset[str]:
            known = remember(snapshot)
            if known is not None:
                return known
            objects = self._objects(snapshot)
            if objects is None:
                return frozenset()
            fresh = time.time() - snapshot.newest < FRESH_S
            return objects.lacking(terms, visible=snapshot.documents, fresh=fresh)

        return self._snapshots.recall(remember, read)

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""

        def read(snapshot: Snapshot) -> Mapping[str, int]:
            words = self._vocabulary.of(_state(snapshot), lambda: self._texts(snapshot))
            if self._terms[0] != _state(snapshot):
                self._terms = _state(snapshot), frozenset(chain.from_iterable(map(analyse, words)))
            return words

        return self._snapshots.read(read)

    def _texts(self, snapshot: Snapshot) -> Iterator[str]:
        """The texts of the visible sections, each after its headings."""
        for record in read_sections(self._servers.mongo, {"build": snapshot.build}):
            if record["version"] in snapshot.documents:
                headings = " ".join(json.loads(record["metadata"])["heading_path"])
                yield f"{headings} {record['text']}"

    def _fetch(self, snapshot: Snapshot, *wanted: Wanted) -> list[list[Fetched]]:
        """For each wish the visible objects that it means."""
        objects = self._objects(snapshot)
        if objects is None or not any(wish.ids for wish in wanted):
            return [[] for _ in wanted]
        return [
            [item for item in found if item.properties["version"] in snapshot.documents]
            for found in objects.fetch(wanted)
        ]

    def _named(self, snapshot: Snapshot, found: Collection[Fetched]) -> list[Fetched]:
        """Sentences with all of their metadata: what stands once for their section is looked up there."""
        sections = self._sections.of(snapshot, {str(item.properties["section"]) for item in found})
        return [_with_metadata(item, sections) for item in found]

    def _objects(self, snapshot: Snapshot) -> NodeObjects | None:
        """The objects of the visible build; None while it has no document."""
        if snapshot.build is None or not snapshot.documents:
            return None
        return NodeObjects(self._servers, store=snapshot.state.store, build=snapshot.build)

    def _search(self, snapshot: Snapshot, request: SearchRequest) -> SearchResponse:
        objects, stored = self._objects(snapshot), snapshot.manifest
        if objects is None or stored is None:
            return _EMPTY
        check_search(stored, self._manifest, request)
        versions = _versions(snapshot, request.paths)
        if versions is not None and not versions:
            return _EMPTY
        found = objects.search(
            terms=analyse(request.text or ""),
            vector=request.vector,
            limits={"section": request.top_k, "sentence": request.top_k * SENTENCES_PER_SECTION},
            visible=snapshot.documents,
            versions=versions,
            fresh=time.time() - snapshot.newest < FRESH_S,
        )
        return SearchResponse(
            bm25_sections=_ranking(found, "bm25", "section"),
            bm25_sentences=_ranking(found, "bm25", "sentence"),
            dense_sections=_ranking(found, "dense", "section"),
            dense_sentences=_ranking(found, "dense", "sentence"),
        )


def _versions(snapshot: Snapshot, globs: Globs | None) -> list[str] | None:
    """The versions of the documents that globs mean; None for all."""
    if globs is None:
        return None
    meant = [version for version, info in snapshot.documents.items() if matches(info.source, globs)]
    return None if len(meant) == len(snapshot.documents) else meant


def _ranking(found: Mapping[tuple[str, Level], Sequence[Found]], way: str, level: Level) -> Ranking:
    return tuple(Hit(item.node_id, item.section_id, item.score) for item in found.get((way, level), ()))


def _state(snapshot: Snapshot) -> tuple[str, str | None, int]:
    """What the vocabulary of a snapshot is kept by."""
    return snapshot.state.store, snapshot.build, snapshot.state.generation


def _count(snapshot: Snapshot) -> int:
    return snapshot.sentences


def _vectors(found: Iterable[Fetched]) -> dict[str, Vector]:
    return {str(item.properties["node"]): item.vector for item in found if item.vector is not None}


def _all(sections: Mapping[str, Leaves]) -> Iterator[Fetched]:
    return (item for leaves in sections.values() for item in leaves.by_id.values())


def _by_section(found: Iterable[Fetched]) -> dict[str, Leaves]:
    """Leaves by their section, in reading order."""
    groups: dict[str, dict[str, Fetched]] = {}
    for item in sorted(found, key=lambda item: int(item.properties["position"])):
        groups.setdefault(str(item.properties["section"]), {})[str(item.properties["node"])] = item
    return {
        section_id: Leaves(str(next(iter(by_id.values())).properties["version"]), by_id)
        for section_id, by_id in groups.items()
    }


def _with_metadata(item: Fetched, sections: Mapping[str, StoredNode]) -> Fetched:
    section = sections.get(str(item.properties["section"]))
    if section is None:
        raise StoreDamaged("Weaviate has a sentence whose section MongoDB has not.", "`athena repair`.")
    metadata = read_sentence(section.metadata, str(item.properties["metadata"]))
    return Fetched({**item.properties, "metadata": metadata}, item.vector)


def _sentence(item: Fetched, snapshot: Snapshot) -> StoredNode:
    properties = item.properties
    start, end = properties.get("start"), properties.get("end")
    return StoredNode(
        node_id=str(properties["node"]),
        text=str(properties["text"]),
        metadata=dict(properties["metadata"]),
        start_char_idx=None if start is None else int(start),
        end_char_idx=None if end is None else int(end),
        document_id=snapshot.documents[str(properties["version"])].id,
        section_id=str(properties["section"]),
    )


def _has_digit(term: str) -> bool:
    return any(character.isdigit() for character in term)
