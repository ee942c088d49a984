"""`ServerStore`: MongoDB has documents and sections, Weaviate has sentences and finds both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from pymongo.errors import DuplicateKeyError

from pipeline.errors import StoreError
from pipeline.stores.base import Manifest
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.conversations import ServerConversations
from pipeline.stores.server.index import build_to_write
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.reading import Reader, ServerSections
from pipeline.stores.server.searching import ServerSentences
from pipeline.stores.server.writing import ServerWriting


class ServerStore:
    """Fulfils `Store`; safe to use from several threads, processes and machines.

    Nothing is connected before it is needed. Given a `manifest`, searching an index that was made otherwise
    raises `ManifestMismatch`.
    """

    def __init__(self, addresses: ServerAddresses, *, manifest: Callable[[], Manifest] | None = None) -> None:
        self._connections = Connections(addresses)
        reader = Reader(self._connections)
        self.sections = ServerSections(reader)
        self.sentences = ServerSentences(reader, manifest)
        self.conversations = ServerConversations(self._connections)
        self.memories = ServerMemories(self._connections)
        self.records = ServerRecords(self._connections)

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[ServerWriting]:
        """Write documents in the block; other processes may write others. Raises `ManifestMismatch`."""
        build = build_to_write(self._connections, manifest, rebuild=rebuild)
        writing = ServerWriting(self._connections, build)
        try:
            yield writing
        except BaseException:
            with suppress(StoreError):  # documents that were complete before the error are kept
                writing.flush()
            raise
        writing.finish()

    def versions(self) -> tuple[str, str]:
        """The versions of MongoDB and Weaviate; raises `StoreUnavailable` where one does not answer."""
        return self._connections.versions()

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


class ServerRecords:
    """Fulfils `Records` in MongoDB."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def get_all(self, kind: str) -> Mapping[str, str]:
        """The texts of a kind by id, sorted by id."""
        with self._connections.mongodb() as database:
            found = {record["id"]: record["text"] for record in database["records"].find({"kind": kind})}
        return dict(sorted(found.items()))

    def put(self, kind: str, id_: str, text: str | None) -> bool:
        """Add a text, or delete it with None; False where that changes nothing."""
        key = {"_id": f"{kind}\n{id_}"}
        with self._connections.mongodb() as database:
            if text is None:
                return database["records"].delete_one(key).deleted_count > 0
            try:
                database["records"].insert_one({**key, "kind": kind, "id": id_, "text": text})
            except DuplicateKeyError:
                return False
        return True
