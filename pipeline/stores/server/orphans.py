"""Orphans: what lies in one server without its counterpart in the other; found, and removed.

Also what a search by vector does not find, though it is there: Weaviate (1.36) keeps the last 64 KB of the
log of its vector index in memory; killed, or without power, it starts without these entries and says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.stores.base import LEVELS, Level
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
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import State
from pipeline.stores.server.writing import Builds, unsearchable


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


def find_orphans(servers: Servers, state: State, *, busy: bool) -> OrphanReport:
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


def remove_orphans(servers: Servers, builds: Builds) -> OrphanReport:
    """Remove them, but for incomplete documents, which the next ingest is to write again."""
    found = find_orphans(servers, builds.state, busy=False)
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
