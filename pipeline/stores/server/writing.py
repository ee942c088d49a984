"""The writer's turn: documents in and out of one build, many at once, each shown by one insert.

A build is one index made by one manifest. Readers see one of them; a rebuild writes another beside it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pipeline.errors import UnknownDocument
from pipeline.stores.base import DocumentInfo, Level, Manifest, NewDocument
from pipeline.stores.manifest import check_manifest
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.records import (
    Record,
    append_records,
    clear_pending,
    delete_build,
    delete_records,
    delete_versions,
    info_of,
    insert_pending,
    insert_versions,
    known_builds,
    read_pending,
    read_records,
    visible_records,
)
from pipeline.stores.server.schema import NodeObject, node_objects
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import State, WriterLease, manifest_record

GROUP_NODES = 400
GROUP_SECONDS = 2.0
"""Documents are written in groups of so many nodes, or of what came within so many seconds."""

RETIRED_NODES = 5000
"""Nodes of replaced versions, above which they are deleted before the turn ends: searches must skip them."""

KEPT_PLACES = 20
"""Place-taking log entries that are kept: more than there can be stalled writers at once."""


NEWEST_NODES = 500
"""Nodes that are looked at before writing: 64 KB are the links of some hundred."""


class Builds:
    """The builds of one store, for the holder of the writer's place."""

    def __init__(self, servers: Servers, lease: WriterLease, state: State) -> None:
        self._servers = servers
        self.lease = lease
        self.state = state

    def to_write(self, manifest: Manifest, *, rebuild: bool) -> tuple[str, list[Record]]:
        """The build to write to, with its records; raises `ManifestMismatch`.

        A rebuild of an index that has no documents would hide nothing: it writes to the visible build.
        """
        visible = self.state.build
        records = read_records(self._servers.mongo, visible) if visible else []
        if visible is None or not visible_records(records):
            build = self._begin(manifest)
            self.show(build)
            self.drop_except([build])
            return build, []
        if not rebuild:
            check_manifest(self.state.manifest, manifest)
            self.drop_except([visible])
            return visible, records
        build = self._unfinished(manifest) or self._begin(manifest)
        self.drop_except([visible, build])
        return build, read_records(self._servers.mongo, build)

    def objects(self, build: str) -> NodeObjects:
        """The objects of a build."""
        return NodeObjects(self._servers, store=self.state.store, build=build)

    def visible(self) -> tuple[str, list[Record]]:
        """The visible build with its records; to be called where there is one."""
        build = self.state.build or ""
        return build, read_records(self._servers.mongo, build)

    def show(self, build: str) -> None:
        """Make a build the visible one, in one update: readers of another read again."""
        manifest = self.manifest(build)
        generation = self.state.generation + 1
        numbers = {"generation": generation, "deleted": generation}
        self.lease.update_state({"build": build, "manifest": manifest_record(manifest), **numbers})
        self.state = replace(
            self.state, build=build, manifest=manifest, generation=generation, deleted=generation
        )

    def manifest(self, build: str) -> Manifest:
        """What a build is made with."""
        with self._servers.mongo.collection("builds") as builds:
            record = builds.find_one({"_id": build}) or {}
        return Manifest(**record["manifest"])

    def append(self, records: Sequence[Record]) -> None:
        """Add entries to the log of the build, and count the change where that is the visible one.

        A writer that is killed in between leaves the count to the next one: `count_entries`.
        """
        shown = any(record.build == self.state.build and record.source for record in records)
        generation = self.state.generation + shown
        self.lease.check()
        append_records(self._servers.mongo, records)
        self._count(replace(self.state, written=records[-1].number, generation=generation))

    def count_entries(self, newest: int) -> None:
        """Count the entries up to a number, which an interrupted writer has added."""
        self._count(replace(self.state, written=newest, generation=self.state.generation + 1))

    def begin_deleting(self) -> None:
        """Announce that replaced versions are being deleted: readers of an older state read again."""
        self._count(replace(self.state, deleted=self.state.generation))

    def drop_except(self, builds: Collection[str]) -> None:
        """Delete all builds but these, with everything in them; the next call completes a broken-off one."""
        for build in known_builds(self._servers.mongo):
            if build not in builds:
                self.lease.check()
                self.objects(build).drop()
                delete_build(self._servers.mongo, build)

    def _count(self, state: State) -> None:
        """Write the numbers of a state that shows the same build."""
        numbers = {"generation": state.generation, "written": state.written, "deleted": state.deleted}
        self.lease.update_state(numbers)
        self.state = state

    def _begin(self, manifest: Manifest) -> str:
        """A new build, still empty and not visible: it is known before anything of it is made."""
        build = uuid.uuid4().hex[:8]
        record = {"_id": build, "manifest": manifest_record(manifest), "begun_at": time.time()}
        with self._servers.mongo.collection("builds") as builds:
            builds.insert_one(record)
        self.objects(build).create()
        return build

    def _unfinished(self, manifest: Manifest) -> str | None:
        """The build that a rebuild with this manifest left unfinished, if one did."""
        wanted = manifest_record(manifest)
        with self._servers.mongo.collection("builds") as builds:
            known = sorted(builds.find({}), key=lambda record: -float(record["begun_at"]))
        for record in known:
            if record["_id"] != self.state.build and record["manifest"] == wanted:
                self.objects(record["_id"]).create()  # it may have been interrupted before that
                return str(record["_id"])
        return None


class ServerWriting:
    """Writes to one build: the visible one, or in a rebuild the one that will be."""

    def __init__(self, servers: Servers, builds: Builds, *, build: str, records: Iterable[Record]) -> None:
        self._servers = servers
        self._builds = builds
        self._build = build
        self._objects = builds.objects(build)
        self._records = list(records)
        self._visible = visible_records(self._records)
        self._group: dict[str, NewDocument] = {}  # by version
        self._group_objects: dict[Level, list[NodeObject]] = {"section": [], "sentence": []}
        self._group_began = 0.0
        self._retired_nodes = 0
        self._failed = False
        self._recover()

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source."""
        self.flush()
        infos = (record.info for record in self._visible.values() if record.info)
        return sorted(infos, key=lambda info: info.source)

    def replace(self, document: NewDocument) -> None:
        """Write a document, replacing its former version, together with those that come right after it."""
        version = uuid.uuid4().hex
        objects = node_objects(document, version)
        if any(document.source == waiting.source for waiting in self._group.values()):
            self.flush()
        self._group_began = self._group_began if self._group else time.monotonic()
        self._group[version] = document
        for level, some in objects.items():
            self._group_objects[level] += some
        nodes = sum(map(len, self._group_objects.values()))
        if nodes >= GROUP_NODES or time.monotonic() - self._group_began > GROUP_SECONDS:
            self.flush()

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        self.flush()
        if source not in self._visible:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena search` shows what is.")
        self._append([Record(self._next_number, self._build, source)])

    def check(self) -> None:
        """Raise `StoreError` where the writer's place was lost, or MongoDB does not answer any more."""
        self._builds.lease.check()

    def publish(self) -> None:
        """Put a rebuilt index in the place of the old one."""
        self.finish()
        if self._is_visible:
            return
        self._builds.show(self._build)
        self._builds.drop_except([self._build])

    def finish(self) -> None:
        """Write what is waiting, and delete what was replaced."""
        self.flush()
        self._purge()
        if not self._failed:  # else the next writer deletes what is pending
            clear_pending(self._servers.mongo, self._build)

    def forget_hashes(self, sources: Iterable[str]) -> None:
        """Make the next ingest write some documents again."""
        for source in sources:
            record = self._visible[source]
            if record.info is not None:
                info = replace(record.info, hash="")
                self._append([Record(self._next_number, self._build, source, record.version, info)])

    def flush(self) -> None:
        """Write the documents that are waiting: pending, written, shown."""
        if not self._group:
            return
        group, objects = self._group, self._group_objects
        self._group, self._group_objects = {}, {"section": [], "sentence": []}
        self._builds.lease.check()
        self._failed = True  # until all is done
        insert_pending(self._servers.mongo, self._build, group)
        insert_versions(self._servers.mongo, self._build, group)
        self._objects.insert(objects)
        now = time.time()
        self._append(
            [
                Record(number, self._build, document.source, version, info_of(document, now))
                for number, (version, document) in enumerate(group.items(), start=self._next_number)
            ]
        )
        self._failed = False
        if self._retired_nodes >= RETIRED_NODES:
            self._purge()

    @property
    def _is_visible(self) -> bool:
        return self._builds.state.build == self._build

    @property
    def _next_number(self) -> int:
        return self._builds.state.written + 1

    def _append(self, records: list[Record]) -> None:
        self._builds.append(records)
        self._records += records
        for record in records:
            former = self._visible.pop(record.source, None)
            if former is not None and former.info is not None:
                self._retired_nodes += former.info.sections + former.info.sentences
            if record.version is not None:
                self._visible[record.source] = record

    def _recover(self) -> None:
        """Take a place in the log, and delete what an interrupted writer left."""
        newest = max((record.number for record in self._records), default=0)
        if newest > self._builds.state.written:  # its last entries were not counted
            self._builds.count_entries(newest)
        self._append([Record(self._next_number, self._build, "")])
        shown = {record.version for record in self._records}
        leftover = [
            version for version in read_pending(self._servers.mongo, self._build) if version not in shown
        ]
        self._delete_versions(leftover)
        clear_pending(self._servers.mongo, self._build)
        self._purge()
        self.forget_hashes(self._unsearchable())

    def _unsearchable(self) -> set[str]:
        """What was written last and a search by vector does not find, as after a crash of Weaviate."""
        records = newest(self._visible.values())
        dimensions = self._builds.manifest(self._build).dimensions
        return unsearchable(self._objects, records, dimensions=dimensions) if records else set()

    def _purge(self) -> None:
        """Delete what is superseded: versions first, then the entries that name them."""
        current = {record.number for record in self._visible.values()}
        places = [record.number for record in self._records if not record.source][-KEPT_PLACES:]
        kept = current.union(places)
        superseded = [record for record in self._records if record.number not in kept]
        if not superseded:
            return
        if self._is_visible and any(record.source for record in superseded):
            self._builds.begin_deleting()
        visible = {record.version for record in self._visible.values()}
        self._delete_versions(
            [item.version for item in superseded if item.version and item.version not in visible]
        )
        delete_records(self._servers.mongo, [record.number for record in superseded])
        self._records = [record for record in self._records if record.number in kept]
        self._retired_nodes = 0

    def _delete_versions(self, versions: list[str]) -> None:
        if versions:
            self._builds.lease.check()
            self._objects.delete_versions(versions)
            delete_versions(self._servers.mongo, versions)


def newest(records: Collection[Record]) -> list[Record]:
    """The records that were written last."""
    found: list[Record] = []
    nodes = 0
    for record in sorted(records, key=lambda record: -record.number):
        if nodes >= NEWEST_NODES:
            break
        found.append(record)
        nodes += record.info.sections + record.info.sentences if record.info else 0
    return found


def unsearchable(objects: NodeObjects, records: Collection[Record], *, dimensions: int) -> set[str]:
    """The sources of visible documents of which a search by vector would not find every node."""
    expected: Mapping[Level, dict[str, int]] = {"section": {}, "sentence": {}}
    sources: dict[str, str] = {}
    for record in records:
        if record.version is not None and record.info is not None:
            sources[record.version] = record.source
            expected["section"][record.version] = record.info.sections
            expected["sentence"][record.version] = record.info.sentences
    lacking: set[str] = set()
    for level, numbers in expected.items():
        found = objects.searchable(level, numbers, dimensions)
        lacking.update(sources[version] for version, number in numbers.items() if found[version] < number)
    return lacking
