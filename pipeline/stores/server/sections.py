"""`SectionStore` on MongoDB."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from pipeline.errors import StoreDamaged, UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, StoredDocument
from pipeline.stores.metadata import read_section
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.records import read_sections, read_shared, read_texts
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Kept, Snapshot, Snapshots, Versioned

MAX_CHARACTERS = 32_000_000  # of all sections: 40 to 130 MB; most collections of documents are smaller
MAX_CHARACTERS_AT_ONCE = MAX_CHARACTERS // 2
"""Of the documents that are read before anybody asks for them: headings make some of it twice."""


class ServerSections:
    """Whole documents and their sections, of the visible build."""

    def __init__(self, servers: Servers, snapshots: Snapshots) -> None:
        self._servers = servers
        self._snapshots = snapshots
        self._kept: Kept[StoredNode] = Kept(MAX_CHARACTERS)
        self._languages: tuple[tuple[str, str | None, int] | None, Mapping[str, int]] = None, {}
        # By source: every search reads the documents of its first passages.
        self._whole: Kept[StoredDocument] = Kept(MAX_CHARACTERS)

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        return list(self._snapshots.known(lambda snapshot: snapshot.by_source))

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        found = self._snapshots.get_many(self._whole, [source], self._read_documents)
        if source not in found:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
        return found[source]

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""
        return self._snapshots.get_many(self._kept, node_ids, self._read)

    def of(self, snapshot: Snapshot, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, of the versions that a snapshot shows; only while it is read."""
        return snapshot.get_many(self._kept, node_ids, self._read)

    def kept(self, snapshot: Snapshot, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Those of some sections that are known without asking."""
        return self._kept.get_many(node_ids, snapshot.documents)

    def languages(self) -> Mapping[str, int]:
        """How many visible documents there are in each language, by ISO 639-1 code."""

        def remember(snapshot: Snapshot) -> Mapping[str, int] | None:
            return self._languages[1] if self._languages[0] == _state(snapshot) else None

        def read(snapshot: Snapshot) -> Mapping[str, int]:
            known = remember(snapshot)
            if known is not None:
                return known
            shared = read_shared(self._servers.mongo, snapshot.documents)
            found = Counter(json.loads(own).get("language", "en") for own in shared.values())
            self._languages = _state(snapshot), dict(found.most_common())
            return self._languages[1]

        return self._snapshots.recall(remember, read)

    def warm_up(self) -> None:
        """Read all documents in two queries and keep them with their sections, where there is room for all.

        Each search looks at the documents of its first passages, and one of them that is not kept costs a
        query: a few milliseconds in MongoDB, but FerretDB looks through all sections for it.
        """

        def read(snapshot: Snapshot) -> None:
            characters = sum(info.characters for info in snapshot.documents.values())
            if 0 < characters <= MAX_CHARACTERS_AT_ONCE:
                of_build = {"build": snapshot.build}
                self._whole.put(self._documents_of(snapshot, texts=of_build, sections=of_build))

        self._snapshots.read(read)

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        return self._snapshots.known(_manifest)

    def _read(self, snapshot: Snapshot, node_ids: Collection[str]) -> dict[str, Versioned[StoredNode]]:
        mongo = self._servers.mongo
        rows: list[Document] = []
        for ids in chunks(node_ids):
            found = read_sections(mongo, {"build": snapshot.build, "node": {"$in": ids}})
            rows += [row for row in found if row["version"] in snapshot.documents]
        return _nodes(rows, read_shared(mongo, {row["version"] for row in rows}), snapshot)

    def _read_documents(
        self, snapshot: Snapshot, sources: Iterable[str]
    ) -> dict[str, Versioned[StoredDocument]]:
        versions = [snapshot.versions[source] for source in sources if source in snapshot.versions]
        found: dict[str, Versioned[StoredDocument]] = {}
        for version in versions:
            found |= self._documents_of(snapshot, texts={"_id": version}, sections={"version": version})
        return found

    def _documents_of(
        self, snapshot: Snapshot, *, texts: Document, sections: Document
    ) -> dict[str, Versioned[StoredDocument]]:
        """The visible documents that two filters mean, by source; their sections are kept."""
        mongo = self._servers.mongo
        whole = {row["_id"]: row for row in read_texts(mongo, texts) if row["_id"] in snapshot.documents}
        rows = [row for row in read_sections(mongo, sections) if row["version"] in snapshot.documents]
        nodes = _nodes(rows, {version: row["metadata"] for version, row in whole.items()}, snapshot)
        self._kept.put(nodes)
        by_version: defaultdict[str, list[StoredNode]] = defaultdict(list)
        for node in nodes.values():
            by_version[node.version].append(node.item)
        found: dict[str, Versioned[StoredDocument]] = {}
        for version, row in whole.items():
            info = snapshot.documents[version]
            document = StoredDocument(info, row["text"], tuple(by_version[version]))
            found[info.source] = Versioned(version, document, len(row["text"]))
        return found


def _nodes(
    rows: Iterable[Document], shared: Mapping[str, str], snapshot: Snapshot
) -> dict[str, Versioned[StoredNode]]:
    """The sections of some rows, by id; `shared` has what stands once for each document, by version."""
    found: dict[str, Versioned[StoredNode]] = {}
    for row in rows:
        version, of_document = row["version"], shared.get(row["version"])
        if of_document is None:
            raise StoreDamaged(
                "MongoDB has sections of a document whose text it has not.", "`athena repair`."
            )
        node = StoredNode(
            node_id=row["node"],
            text=row["text"],
            metadata=read_section(of_document, row["metadata"]),
            start_char_idx=row["start"],
            end_char_idx=row["end"],
            document_id=snapshot.documents[version].id,
            sentence_ids=tuple(row["children"]),
        )
        names = len(row["metadata"]) + len(of_document) + sum(map(len, node.sentence_ids))
        found[node.node_id] = Versioned(version, node, len(node.text) + names)
    return found


def _state(snapshot: Snapshot) -> tuple[str, str | None, int]:
    return snapshot.state.store, snapshot.build, snapshot.state.generation


def _manifest(snapshot: Snapshot) -> Manifest | None:
    made_as = snapshot.manifest
    return None if made_as is None else replace(made_as, generation=snapshot.state.generation)
