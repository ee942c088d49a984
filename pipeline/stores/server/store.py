"""`ServerStore`: documents in MongoDB, which is the truth, their nodes in Weaviate, which finds them.

Orphans are what lies in one server without its counterpart in the other; they are found, and removed. So is
what a search by vector does not find, though it is there: Weaviate (1.36) keeps the last 64 KB of the log of
its vector index in memory; killed, or without power, it starts without these entries and says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pipeline.errors import StoreError, UnknownDocument
from pipeline.stores.base import LEVELS, Level, Manifest
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.mongo import Document
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.records import (
    Record,
    delete_versions,
    known_builds,
    read_pending,
    read_records,
    visible_records,
)
from pipeline.stores.server.schema import collection_name, store_prefix
from pipeline.stores.server.sections import ServerSections
from pipeline.stores.server.sentences import ServerSentences
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.snapshot import Snapshots
from pipeline.stores.server.state import WAIT_S, State, is_held, read_state, writer_lease
from pipeline.stores.server.writing import Builds, ServerWriting, unsearchable


@dataclass(frozen=True, slots=True)
class ServerVersions:
    """What the two servers say they are."""

    mongodb: str
    weaviate: str


@dataclass(frozen=True, slots=True)
class OrphanReport:
    """What has no counterpart; what somebody is writing at this moment is not counted."""

    objects: int = 0  # in Weaviate, of versions that nobody sees
    versions: tuple[str, ...] = ()  # of those, and of texts and sections in MongoDB that nobody sees
    incomplete: tuple[str, ...] = ()  # sources of documents that lack objects, sections or their text
    builds: tuple[str, ...] = ()  # interrupted rebuilds, or replaced builds that were not dropped
    collections: tuple[str, ...] = ()  # in Weaviate, of no build

    @property
    def is_clean(self) -> bool:
        """True where there is nothing to remove."""
        return self == OrphanReport()

    def lines(self) -> list[str]:
        """A line for everything that was found."""
        incomplete = ", ".join(self.incomplete)
        found = {
            f"{self.objects:,} objects in Weaviate that no document has": self.objects,
            f"{len(self.versions):,} versions of documents that nobody sees": self.versions,
            f"documents that lack a part, to be ingested again: {incomplete}": self.incomplete,
            f"unfinished or replaced builds: {', '.join(self.builds)}": self.builds,
            f"collections in Weaviate of no build: {', '.join(self.collections)}": self.collections,
        }
        return [line for line, items in found.items() if items]


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
        return _find_orphans(self._servers, read_state(mongo), busy=is_held(mongo))

    def remove_orphans(self) -> OrphanReport:
        """Remove what `find_orphans` finds, while nobody else writes; what that was."""
        with self._turn() as builds:
            found = _remove_orphans(self._servers, builds)
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


def _find_orphans(servers: Servers, state: State, *, busy: bool) -> OrphanReport:
    """What has no counterpart; while a writer is `busy`, what it is writing counts as having one."""
    if not state.store:
        return OrphanReport()
    prefix = servers.addresses.weaviate_prefix
    known = set(known_builds(servers.mongo))
    existing = _collections(servers, store_prefix(prefix, state.store))
    of_builds = {collection_name(prefix, state.store, build, level) for build in known for level in LEVELS}
    stale = tuple(sorted(known - {state.build}))
    collections = tuple(sorted(existing - of_builds))
    if state.build is None:
        return OrphanReport(builds=stale, collections=collections)
    objects = NodeObjects(servers, store=state.store, build=state.build)
    complete = existing >= {collection_name(prefix, state.store, state.build, level) for level in LEVELS}
    stored = objects.stored() if complete else {}
    rows = _rows(servers, state.build)
    records = read_records(servers.mongo, state.build)
    visible = visible_records(records)
    owned = {record.version for record in (records if busy else visible.values())}
    owned.update(read_pending(servers.mongo, state.build) if busy else ())
    stray = {version for counted in (*stored.values(), rows) for version in counted} - owned
    lacking = {source for source, record in visible.items() if _lacks(record, stored, rows)}
    if complete and state.manifest is not None:
        lacking |= unsearchable(objects, visible.values(), dimensions=state.manifest.dimensions)
    return OrphanReport(
        objects=sum(counted.get(version, 0) for counted in stored.values() for version in stray),
        versions=tuple(sorted(stray)),
        incomplete=tuple(sorted(lacking)),
        builds=stale,
        collections=collections,
    )


def _remove_orphans(servers: Servers, builds: Builds) -> OrphanReport:
    """Remove them, but for incomplete documents, which the next ingest is to write again."""
    found = _find_orphans(servers, builds.state, busy=False)
    state = builds.state
    if found.collections:
        servers.weaviate.run(lambda client: client.collections.delete(list(found.collections)))
    if state.build is None:
        builds.drop_except([])
        return found
    builds.drop_except([state.build])
    objects = builds.objects(state.build)
    objects.create()
    objects.delete_versions(found.versions)
    delete_versions(servers.mongo, found.versions)
    return found


def _lacks(record: Record, stored: Mapping[Level, Mapping[str, int]], rows: Mapping[str, int]) -> bool:
    """True where a visible document lacks objects, sections or its text."""
    version, info = record.version, record.info
    if version is None or info is None:
        return False
    counted = [*(stored.get(level, {}).get(version, 0) for level in LEVELS), rows.get(version, 0)]
    return counted != [info.sections, info.sentences, info.sections + 1]


def _collections(servers: Servers, prefix: str) -> set[str]:
    names = servers.weaviate.run(lambda client: list(client.collections.list_all(simple=True)))
    return {name for name in names if name.startswith(prefix)}


def _rows(servers: Servers, build: str) -> dict[str, int]:
    """How many texts and sections of each version there are, counted by the server."""
    of_build = {"$match": {"build": build}}
    counted: Counter[str] = Counter()
    with servers.mongo.database() as database:
        for name, version in (("texts", "$_id"), ("sections", "$version")):
            by_version = {"$group": {"_id": version, "number": {"$sum": 1}}}
            groups: list[Document] = [of_build, by_version]
            counted.update({group["_id"]: group["number"] for group in database[name].aggregate(groups)})
    return counted
