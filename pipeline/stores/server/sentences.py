"""`SentenceIndex` on Weaviate."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from pipeline.analysis import analyse
from pipeline.errors import StoreDamaged
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
from pipeline.stores.globs import Globs, matches
from pipeline.stores.kept import KeptByState
from pipeline.stores.manifest import check_search
from pipeline.stores.metadata import read_sentence
from pipeline.stores.server.objects import Fetched, FoundObject, NodeObjects, Query, Wanted, of_versions
from pipeline.stores.server.records import read_sections
from pipeline.stores.server.schema import Properties
from pipeline.stores.server.sections import ServerSections
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Kept, Snapshot, Snapshots, Versioned
from pipeline.stores.vocabulary import Vocabulary, count_words

SENTENCE_PROPERTIES = ("node", "version", "section", "position", "start", "end", "metadata", "text")

MAX_LEAVES = 20_000  # some 60 MB, most of it vectors

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
        self._kept: Kept[StoredNode] = Kept(MAX_LEAVES)
        self._vectors: Kept[Vector] = Kept(MAX_LEAVES)
        self._vocabulary: KeptByState[None, Vocabulary] = KeptByState(room=1)
        self._terms: tuple[tuple[str, str | None, int] | None, frozenset[str]] = None, frozenset()

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        return self._snapshots.read(lambda snapshot: self._search(snapshot, request))

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections, in one call.

        Their vectors are fetched and kept with them: whoever wants sentences compares them.
        """

        def remember(snapshot: Snapshot) -> dict[str, StoredNode] | None:
            whole = self._sections.kept(snapshot, sections)
            wanted = [*node_ids, *_leaves(whole.values())]
            kept = self._kept.get_many(wanted, snapshot.documents)
            if len(whole) < len(set(sections)) or len(kept) < len(set(wanted)):
                return None
            return {node_id: kept[node_id] for node_id in wanted}

        def read(snapshot: Snapshot) -> dict[str, StoredNode]:
            whole = self._sections.of(snapshot, sections)
            wanted = [*node_ids, *_leaves(whole.values())]
            found = self._kept.get_many(wanted, snapshot.documents)
            unread = [id_ for id_, section in whole.items() if not found.keys() >= {*section.sentence_ids}]
            coming = {*found, *_leaves(whole[id_] for id_ in unread)}
            missing = [node_id for node_id in node_ids if node_id not in coming]
            found |= self._read(snapshot, leaves=missing, sections=unread)
            return {node_id: found[node_id] for node_id in wanted if node_id in found}

        return self._snapshots.recall(remember, read)

    def of_sections(self, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
        """All sentences of some sections, in reading order, in one call."""
        groups: dict[str, list[StoredNode]] = {}
        for sentence in self.get_many((), sections=section_ids).values():
            groups.setdefault(sentence.section_id, []).append(sentence)
        return groups

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""
        return self._snapshots.get_many(self._vectors, node_ids, self._read_vectors)

    def count(self) -> int:
        """How many sentences are indexed."""
        return self._snapshots.known(lambda snapshot: snapshot.sentences)

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
            looks = [
                Query(level, 1, snapshot.documents, words=term, fresh=_is_fresh(snapshot))
                for term in terms
                for level in LEVELS
            ]
            found = zip(looks, objects.search(looks), strict=True)
            return frozenset(terms) - {look.words for look, nodes in found if nodes}

        return self._snapshots.recall(remember, read)

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""

        def read(snapshot: Snapshot) -> Mapping[str, int]:
            words = self._vocabulary.one(_state(snapshot), None, lambda: count_words(self._texts(snapshot)))
            if self._terms[0] != _state(snapshot):
                self._terms = _state(snapshot), frozenset(chain.from_iterable(map(analyse, words)))
            return words

        return self._snapshots.read(read)

    def _texts(self, snapshot: Snapshot) -> Iterator[str]:
        """The texts of the visible sections, each after its headings."""
        for record in read_sections(self._servers.mongo, {"build": snapshot.build}):
            if record["version"] in snapshot.documents:
                headings = " ".join(json.loads(record["metadata"])["heading_path"])
                yield f"{headings}\n{record['text']}"

    def _read(
        self, snapshot: Snapshot, *, leaves: Sequence[str], sections: Sequence[str]
    ) -> dict[str, StoredNode]:
        """Sentences by id and of whole sections, which are kept from now on."""
        wanted = [
            Wanted("sentence", "node", leaves, SENTENCE_PROPERTIES),
            Wanted("sentence", "section", sections, SENTENCE_PROPERTIES),
        ]
        found = self._fetch(snapshot, wanted)
        # What stands once for the sentences of a section is looked up there.
        of = self._sections.of(snapshot, {one.item.properties["section"] for one in found.values()})
        nodes = {
            node_id: Versioned(version, _sentence(one.properties, of.get(one.properties["section"])))
            for node_id, (version, one, _) in found.items()
        }
        self._kept.put(nodes)
        self._vectors.put(_vectors(found))
        return {node_id: node.item for node_id, node in nodes.items()}

    def _read_vectors(self, snapshot: Snapshot, node_ids: Sequence[str]) -> dict[str, Versioned[Vector]]:
        wanted = [Wanted(level, "node", node_ids, ("node", "version")) for level in LEVELS]
        return _vectors(self._fetch(snapshot, wanted))

    def _fetch(self, snapshot: Snapshot, wanted: Sequence[Wanted]) -> dict[str, Versioned[Fetched]]:
        """The visible objects that are meant, by the id of their node."""
        objects = self._objects(snapshot)
        if objects is None or not any(wish.ids for wish in wanted):
            return {}
        found = (Versioned(item.properties["version"], item) for item in objects.fetch(wanted))
        return {one.item.properties["node"]: one for one in found if one.version in snapshot.documents}

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
        query = partial(
            Query,
            visible=snapshot.documents,
            where=None if versions is None else of_versions(versions),
            fresh=_is_fresh(snapshot),
        )
        words = " ".join(request.terms)
        limits = {"section": request.top_k, "sentence": request.top_k * SENTENCES_PER_SECTION}
        asked: dict[tuple[str, Level], Query] = {}
        for level in LEVELS:
            if words:
                asked["bm25", level] = query(level, limits[level], words=words)
            if request.vector is not None:
                asked["dense", level] = query(level, limits[level], vector=request.vector)
        found = dict(zip(asked, objects.search([*asked.values()]), strict=True))
        return SearchResponse(
            bm25_sections=_ranking(found.get(("bm25", "section"), ())),
            bm25_sentences=_ranking(found.get(("bm25", "sentence"), ())),
            dense_sections=_ranking(found.get(("dense", "section"), ())),
            dense_sentences=_ranking(found.get(("dense", "sentence"), ())),
        )


def _versions(snapshot: Snapshot, globs: Globs | None) -> list[str] | None:
    """The versions of the documents that globs mean; None for all."""
    if globs is None:
        return None
    meant = [version for version, info in snapshot.documents.items() if matches(info.source, globs)]
    return None if len(meant) == len(snapshot.documents) else meant


def _ranking(found: Iterable[FoundObject]) -> Ranking:
    return tuple(Hit(item.node_id, item.section_id, item.score) for item in found)


def _state(snapshot: Snapshot) -> tuple[str, str | None, int]:
    """What the vocabulary of a snapshot is kept by."""
    return snapshot.state.store, snapshot.build, snapshot.state.generation


def _is_fresh(snapshot: Snapshot) -> bool:
    """True where something may still be in Weaviate's memory only."""
    return time.time() - snapshot.newest < FRESH_S


def _leaves(sections: Iterable[StoredNode]) -> list[str]:
    return [node_id for section in sections for node_id in section.sentence_ids]


def _vectors(found: Mapping[str, Versioned[Fetched]]) -> dict[str, Versioned[Vector]]:
    return {node_id: Versioned(one.version, one.item.vector) for node_id, one in found.items()}


def _sentence(properties: Properties, section: StoredNode | None) -> StoredNode:
    if section is None:
        raise StoreDamaged("Weaviate has a sentence whose section MongoDB has not.", "`athena repair`.")
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


def _has_digit(term: str) -> bool:
    return any(character.isdigit() for character in term)
