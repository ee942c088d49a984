"""`ServerStore`: MongoDB has documents and sections, Weaviate has sentences and finds both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from contextlib import contextmanager

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
    check_search,
)
from pipeline.stores.conversations import Conversations
from pipeline.stores.memories import Memories
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.index import Index, begin_writing, has_documents, read_index
from pipeline.stores.server.reading import count, list_infos, read_document, read_nodes, stored_objects
from pipeline.stores.server.rows import ServerRows
from pipeline.stores.server.searching import lacking, search
from pipeline.stores.server.writing import ServerWriting


class ServerStore:
    """Fulfils `Store`; safe to use from several threads, processes and machines.

    Nothing is connected before it is needed. Versions of documents are looked up for each read. Given a
    `manifest`, searching an index that was made otherwise raises `ManifestMismatch`.
    """

    def __init__(self, addresses: ServerAddresses, *, manifest: Callable[[], Manifest] | None = None) -> None:
        self._connections = Connections(addresses)
        self._manifest = manifest
        self._statistics: tuple[Index | None, Statistics] = None, Statistics()
        self.rows = ServerRows(self._connections)
        self.conversations = Conversations(self.rows)
        self.memories = Memories(self.rows)

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        with self._connections.mongodb() as database:
            return list_infos(database)

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._connections.mongodb() as database:
            return read_document(database, source)

    def get_many(
        self, node_ids: Collection[str], *, of_sections: Collection[str] = ()
    ) -> dict[str, StoredNode]:
        """Nodes by id, in the order of `node_ids`, then all sentences of some sections."""
        with self._connections.mongodb() as database:
            return read_nodes(self._connections, database, node_ids, of_sections)

    def statistics(self) -> Statistics:
        """Counts over all documents, computed again after each change of them."""
        with self._connections.mongodb() as database:
            index = read_index(database)
            known, statistics = self._statistics
            if known != index:
                statistics = count(database, index)
                self._statistics = index, statistics
        return statistics

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search both levels by BM25 and by vector; raises `ManifestMismatch`."""
        with self._connections.mongodb() as database:
            index = read_index(database)
            if index is None or not has_documents(database):
                return SearchResponse((), (), (), ())
            check_search(index.manifest, self._manifest, request)
            return search(self._connections, database, index, request)

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
            return lacking(self._connections, index, terms)

    def vocabulary(self, initial: str) -> Set[str]:
        """The words of what was ingested that begin with a letter, in lower case."""
        begins = {"_id": {"$gte": initial, "$lt": chr(ord(initial) + 1)}}
        with self._connections.mongodb() as database:
            return {word["_id"] for word in database["words"].find(begins)}

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[ServerWriting]:
        """Write documents in the block; other processes may write others. Raises `ManifestMismatch`."""
        build = begin_writing(self._connections, manifest, rebuild=rebuild)
        writing = ServerWriting(self._connections, build)
        yield writing
        writing.finish()

    def versions(self) -> tuple[str, str]:
        """The versions of MongoDB and Weaviate; raises `StoreUnavailable` where one does not answer."""
        return self._connections.versions()

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
