"""The writer's turn: documents in and out of one build, many at once, each shown by one insert."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import replace

from pipeline.errors import UnknownDocument
from pipeline.stores.base import DocumentInfo, Level, NewDocument
from pipeline.stores.server.batches import NodeObject, node_objects
from pipeline.stores.server.builds import Builds
from pipeline.stores.server.orphans import newest, unsearchable
from pipeline.stores.server.records import (
    Record,
    clear_pending,
    delete_records,
    delete_versions,
    info_of,
    insert_pending,
    insert_versions,
    read_pending,
    visible_records,
)
from pipeline.stores.server.servers import Servers

GROUP_NODES = 400
GROUP_SECONDS = 2.0
"""Documents are written in groups of so many nodes, or of what came within so many seconds."""

RETIRED_NODES = 5000
"""Nodes of replaced versions, above which they are deleted before the turn ends: searches must skip them."""

KEPT_PLACES = 20
"""Place-taking log entries that are kept: more than there can be stalled writers at once."""


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
