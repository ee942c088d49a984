"""`SectionStore` on MongoDB."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cachetools import LRUCache

from pipeline.errors import UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, StoredDocument
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.records import (
    read_sections,
    read_text,
    read_texts,
    section_of,
    with_shared,
)
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Snapshot, Snapshots
from pipeline.stores.server.version_cache import MAX_CHARACTERS, section_cache

MAX_CHARACTERS_AT_ONCE = MAX_CHARACTERS // 2
"""Of the documents that are read before anybody asks for them: headings make some of it twice."""


class ServerSections:
    """Whole documents and their sections, of the visible build."""

    def __init__(self, servers: Servers, snapshots: Snapshots) -> None:
        self._servers = servers
        self._snapshots = snapshots
        self._cache = section_cache()
        self._lock = threading.Lock()
        # By version, which never changes: every search reads the documents of its first passages.
        self._read: LRUCache[str, StoredDocument] = LRUCache(MAX_CHARACTERS, getsizeof=_characters)

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        return list(self._snapshots.recall(_documents, _documents))

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""

        def remember(snapshot: Snapshot) -> StoredDocument | None:
            with self._lock:
                return self._read.get(snapshot.versions.get(source, ""))

        def read(snapshot: Snapshot) -> StoredDocument | None:
            if (version := snapshot.versions.get(source)) is None:
                return None
            if (kept := remember(snapshot)) is not None:
                return kept
            text = read_text(self._servers.mongo, version) or ""
            mongo = self._servers.mongo
            sections = with_shared(mongo, read_sections(mongo, {"version": version}))
            return self._keep(snapshot.documents[version], version, text, sections)

        document = self._snapshots.recall(remember, read)
        if document is None:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
        return document

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""

        def remember(snapshot: Snapshot) -> dict[str, StoredNode] | None:
            records = self._cache.get_many(node_ids, snapshot.documents)
            return _nodes(records, snapshot) if len(records) == len(set(node_ids)) else None

        return self._snapshots.recall(remember, lambda snapshot: self.of(snapshot, node_ids))

    def of(self, snapshot: Snapshot, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, of the versions that a snapshot shows; only while it is read."""
        records = self._cache.get_many(node_ids, snapshot.documents)
        missing = [node_id for node_id in node_ids if node_id not in records]
        read: dict[str, Document] = {}
        for ids in chunks(missing):
            read |= self._visible({"build": snapshot.build, "node": {"$in": ids}}, snapshot)
        self._cache.put(read)
        return _nodes(records | read, snapshot)

    def warm_up(self) -> None:
        """Read all documents in two queries and keep them with their sections, where there is room for all.

        Each search looks at the documents of its first passages, and one of them that is not kept costs a
        query: a few milliseconds in MongoDB, but FerretDB looks through all sections for it.
        """

        def read(snapshot: Snapshot) -> None:
            characters = sum(info.characters for info in snapshot.documents.values())
            if not 0 < characters <= MAX_CHARACTERS_AT_ONCE:
                return
            where = {"build": snapshot.build}
            records = self._visible(where, snapshot)
            self._cache.put(records)
            sections: defaultdict[str, list[Document]] = defaultdict(list)
            for record in records.values():
                sections[record["version"]].append(record)
            for version, text in read_texts(self._servers.mongo, where):
                if version in snapshot.documents:
                    self._keep(snapshot.documents[version], version, text, sections[version])

        self._snapshots.read(read)

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        return self._snapshots.recall(_manifest, _manifest)

    def _keep(
        self, info: DocumentInfo, version: str, text: str, sections: Iterable[Document]
    ) -> StoredDocument:
        """A document of its records, kept until others need its room."""
        found = StoredDocument(info, text, tuple(section_of(item, info.id) for item in sections))
        with self._lock, suppress(ValueError):  # too large to be kept
            self._read[version] = found
        return found

    def _visible(self, where: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Document]:
        """The records that a filter means, of visible versions, by id."""
        mongo = self._servers.mongo
        records = read_sections(mongo, where)
        visible = (record for record in records if record["version"] in snapshot.documents)
        return {record["node"]: record for record in with_shared(mongo, visible)}


def _nodes(records: Mapping[str, Document], snapshot: Snapshot) -> dict[str, StoredNode]:
    return {
        node_id: section_of(record, snapshot.documents[record["version"]].id)
        for node_id, record in records.items()
    }


def _documents(snapshot: Snapshot) -> tuple[DocumentInfo, ...]:
    return snapshot.by_source


def _manifest(snapshot: Snapshot) -> Manifest | None:
    made_as = snapshot.manifest
    return None if made_as is None else replace(made_as, generation=snapshot.state.generation)


def _characters(document: StoredDocument) -> int:
    return 2 * len(document.text)  # once whole, once in sections
