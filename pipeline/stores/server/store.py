"""`ServerStore`: MongoDB has documents and sections, Weaviate has sentences and finds both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.stores.base import Manifest
from pipeline.stores.conversations import Conversations
from pipeline.stores.memories import Memories
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.connections import Connections
from pipeline.stores.server.index import begin_writing
from pipeline.stores.server.reading import ServerSections
from pipeline.stores.server.rows import ServerRows
from pipeline.stores.server.searching import ServerSentences
from pipeline.stores.server.writing import ServerWriting


class ServerStore:
    """Fulfils `Store`; safe to use from several threads, processes and machines.

    Nothing is connected before it is needed. Given a `manifest`, searching an index that was made otherwise
    raises `ManifestMismatch`.
    """

    def __init__(self, addresses: ServerAddresses, *, manifest: Callable[[], Manifest] | None = None) -> None:
        self._connections = Connections(addresses)
        self.sections = ServerSections(self._connections)
        self.sentences = ServerSentences(self._connections, manifest)
        self.rows = ServerRows(self._connections)
        self.conversations = Conversations(self.rows)
        self.memories = Memories(self.rows)

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
