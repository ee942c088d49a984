"""`ServerStore`: documents in MongoDB, which is the truth, their nodes in Weaviate, which finds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pipeline.errors import StoreError, UnknownDocument
from pipeline.stores.base import Manifest
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.orphans import OrphanReport, find_orphans, remove_orphans
from pipeline.stores.server.sections import ServerSections
from pipeline.stores.server.sentences import ServerSentences
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Snapshots
from pipeline.stores.server.state import WAIT_S, is_held, read_state, writer_lease
from pipeline.stores.server.writing import Builds, ServerWriting


@dataclass(frozen=True, slots=True)
class ServerVersions:
    """What the two servers say they are."""

    mongodb: str
    weaviate: str


class ServerStore:
    """Fulfils `DocumentStore`; safe to use from several threads, processes and machines.

    Nothing is connected before it is needed, and a server that comes back is used again. Given a
    `manifest`, a search in an index that was made otherwise raises `ManifestMismatch`.
    """

    def __init__(
        self, addresses: ServerAddresses, *, manifest: Manifest | None = None, lock_wait_s: float = WAIT_S
    ) -> None:
        self._servers = Servers(addresses)
        self._lock_wait_s = lock_wait_s
        snapshots = Snapshots(lambda: self._servers.mongo)
        self.sections = ServerSections(self._servers, snapshots)
        self.sentences = ServerSentences(self._servers, snapshots, sections=self.sections, manifest=manifest)

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[ServerWriting]:
        """Hold the single writer's place while documents are replaced; raises `ManifestMismatch`."""
        with self._turn() as builds:
            build, records = builds.to_write(manifest, rebuild=rebuild)
            writing = ServerWriting(self._servers, builds, build=build, records=records)
            try:
                yield writing
            except BaseException:
                with suppress(StoreError):  # what was written before stays, as in every store
                    writing.flush()
                raise
            writing.finish()

    def delete_document(self, source: str) -> None:
        """Remove a document with all that was made of it; raises `UnknownDocument`."""
        with self._turn() as builds:
            if builds.state.build is None:
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
            builds.drop_except([builds.state.build])
            writing = self._visible(builds)
            writing.delete(source)
            writing.finish()

    def versions(self) -> ServerVersions:
        """The versions of both servers; raises `StoreUnavailable` where one does not answer."""
        return ServerVersions(self._servers.mongo.version(), self._servers.weaviate.version())

    def find_orphans(self) -> OrphanReport:
        """What lies in one server without its counterpart in the other, and builds that nobody sees."""
        mongo = self._servers.mongo
        return find_orphans(self._servers, read_state(mongo), busy=is_held(mongo))

    def remove_orphans(self) -> OrphanReport:
        """Remove what `find_orphans` finds, while nobody else writes; what that was."""
        with self._turn() as builds:
            found = remove_orphans(self._servers, builds)
            if builds.state.build is not None:
                writing = self._visible(builds)
                writing.forget_hashes(found.incomplete)
                writing.finish()
            return found

    def close(self) -> None:
        """Release the connections; the last user in the process closes them."""
        self._servers.close()

    def _visible(self, builds: Builds) -> ServerWriting:
        """Writing to the visible build, whatever it was made with."""
        build, records = builds.visible()
        return ServerWriting(self._servers, builds, build=build, records=records)

    @contextmanager
    def _turn(self) -> Iterator[Builds]:
        mongo = self._servers.mongo
        mongo.ensure_indexes()
        url = self._servers.addresses.mongodb_url
        with writer_lease(mongo, url, wait_s=self._lock_wait_s) as (lease, state):
            yield Builds(self._servers, lease, state)
