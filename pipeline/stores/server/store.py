"""`ServerStore`: documents and sections in MongoDB, sentences in Weaviate, which searches both levels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from contextlib import contextmanager

import numpy as np

from pipeline.errors import StoreError, UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import (
    LEVELS,
    DocumentInfo,
    Manifest,
    SearchRequest,
    SearchResponse,
    Statistics,
    StoredDocument,
    Vector,
    check_manifest,
)
from pipeline.stores.conversations import Conversations
from pipeline.stores.memories import Memories
from pipeline.stores.rows import Rows
from pipeline.stores.server import reading
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.index import Index, begin_writing, visible_index
from pipeline.stores.server.rows import ServerRows
from pipeline.stores.server.searching import Query, ask_all, search
from pipeline.stores.server.writing import ServerWriting


class ServerStore:
    """Fulfils `Store`; safe to use from several threads, processes and machines.

    It connects when it is first used. With a `manifest`, a search in an index that was made with another one
    raises `ManifestMismatch`.
    """

    def __init__(self, addresses: ServerAddresses, *, manifest: Callable[[], Manifest] | None = None) -> None:
        self._connections = Connections(addresses)
        self._manifest = manifest
        self._counted: tuple[Index, Statistics] | None = None
        self.rows: Rows = ServerRows(self._connections)
        self.conversations = Conversations(self.rows)
        self.memories = Memories(self.rows)

    def documents(self) -> list[DocumentInfo]:
        """Return all visible documents, sorted by source."""
        with self._connections.mongodb() as database:
            found = database["documents"].find({"version": {"$ne": ""}}, dict.fromkeys(reading.INFO, 1))
            return [reading.document_info(record) for record in found.sort("_id", 1)]

    def document(self, source: str) -> StoredDocument:
        """Return one document, read again if it was replaced meanwhile; raises `UnknownDocument`."""
        with self._connections.mongodb() as database:
            for _ in range(3):
                record = database["documents"].find_one({"_id": source})
                if record is None or not record["version"]:
                    raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
                rows = [*database["sections"].find({"version": record["version"]}).sort("order", 1)]
                text = database["texts"].find_one({"_id": record["version"]})
                if text is not None and len(rows) == record["sections"]:
                    return StoredDocument(
                        reading.document_info(record), text["text"], tuple(map(reading.section_of, rows))
                    )
        raise StoreError(
            f"MongoDB lacks a part of '{source}'.", "Ingest it again with `athena ingest --rebuild`."
        )

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Return sections and sentences by id, in the order of the ids."""
        with self._connections.mongodb() as database:
            nodes = reading.read_sections(self._connections, database, node_ids)
            others = [id_ for id_ in node_ids if id_ not in nodes]
            found = reading.stored_objects(self._connections, database, "sentence", others)
            owners = {str(one.properties["section"]) for one in found.values()}
            sections = reading.read_sections(self._connections, database, owners)
        for id_, one in found.items():
            if section := sections.get(str(one.properties["section"])):
                nodes[id_] = reading.sentence_of(one.properties, section)
        return {id_: nodes[id_] for id_ in node_ids if id_ in nodes}

    def statistics(self) -> Statistics:
        """Return the counts and the manifest; counted again after each change of a document."""
        with self._connections.mongodb() as database:
            index = visible_index(database)
            if index is None:
                return Statistics()
            if self._counted is None or self._counted[0] != index:
                languages = reading.sums(database, group="$language", add=1)
                sentences = sum(reading.sums(database, group=None, add="$sentences").values())
                self._counted = index, Statistics(sentences, languages, index.manifest)
            return self._counted[1]

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search both levels by BM25 and by vector; raises `ManifestMismatch`."""
        with self._connections.mongodb() as database:
            index = visible_index(database)
            if index is None:
                return SearchResponse((), (), (), ())
            if self._manifest is not None:
                check_manifest(index.manifest, self._manifest())
            return search(self._connections, database, index, request)

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of sections and sentences by id."""
        with self._connections.mongodb() as database:
            found = [reading.stored_objects(self._connections, database, level, node_ids) for level in LEVELS]
        return {
            node_id: np.asarray(one.vector["default"], dtype=np.float32)
            for stored in found
            for node_id, one in stored.items()
        }

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Return the terms, of these analysed ones, that no section has."""
        with self._connections.mongodb() as database:
            index = visible_index(database)
            if index is None:
                return frozenset()
            queries = [Query("section", 1, words=term) for term in terms]
            found = ask_all(self._connections, index, queries, None)
        return frozenset(term for term, hits in zip(terms, found, strict=True) if not hits)

    def vocabulary(self, initial: str) -> Set[str]:
        """Return the words of all sections, in lower case, that begin with the letter `initial`."""
        begins = {"_id": {"$gte": initial, "$lt": chr(ord(initial) + 1)}}
        with self._connections.mongodb() as database:
            return {word["_id"] for word in database["words"].find(begins)}

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[ServerWriting]:
        """Write documents in the block, while other processes may write others; raises `ManifestMismatch`."""
        build = begin_writing(self._connections, manifest, rebuild=rebuild)
        writing = ServerWriting(self._connections, build)
        yield writing
        writing.finish()

    def versions(self) -> tuple[str, str]:
        """Return the versions of MongoDB and Weaviate; raises `StoreUnavailable` if one does not answer."""
        with self._connections.mongodb() as database:
            mongodb = str(database.client.server_info()["version"])
        return mongodb, str(self._connections.weaviate(lambda client: client.get_meta()["version"])[0])

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
