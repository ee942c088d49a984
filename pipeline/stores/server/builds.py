"""Builds: one index made by one manifest. Readers see one of them; a rebuild writes another beside it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from pipeline.stores.base import Manifest
from pipeline.stores.manifest import check_manifest
from pipeline.stores.server.lease import WriterLease
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.records import (
    Record,
    append_records,
    delete_build,
    known_builds,
    read_records,
    visible_records,
)
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import State, manifest_record


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
