"""The writer's turn: documents in and out of one build, each shown or hidden by one update."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import replace

from weaviate.classes.data import DataObject

from pipeline.analysis import lexical_text
from pipeline.errors import StoreError, UnknownDocument
from pipeline.stores.base import DocumentInfo, Level, Manifest, NewDocument
from pipeline.stores.nodes import metadata_json, sentences_by_section
from pipeline.stores.server.builds import Builds
from pipeline.stores.server.objects import NodeObject, object_id
from pipeline.stores.server.records import (
    Record,
    begin_version,
    clean_records,
    delete_versions,
    info_of,
    insert_version,
    show_version,
    without_pending,
)
from pipeline.stores.server.servers import Servers

RETIRED_NODES = 5000
"""Nodes of replaced versions, above which they are deleted before the turn ends: searches pass over them."""


class ServerWriting:
    """Writes to one build: the visible one, or in a rebuild the one that will be."""

    def __init__(
        self, servers: Servers, builds: Builds, *, build: str, manifest: Manifest, records: Iterable[Record]
    ) -> None:
        self._servers = servers
        self._builds = builds
        self._build = build
        self._manifest = manifest
        self._objects = builds.objects(build)
        self._records = {record.source: record for record in records}
        self._retired_nodes = 0
        self._recover()

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source."""
        shown = (record.info for record in self._records.values() if record.version and record.info)
        return sorted(shown, key=lambda info: info.source)

    def replace(self, document: NewDocument) -> None:
        """Write a document, replacing its former version: pending, written, then shown by one update."""
        version = uuid.uuid4().hex
        objects = node_objects(document, version)
        former = self._records.get(document.source) or Record(self._build, document.source)
        if former.pending is not None:  # left by a failure in this turn
            self._purge([former])
            former = without_pending(former)
        pending = replace(former, pending=version)
        self._records[document.source] = pending
        begin_version(self._servers.mongo, pending)
        insert_version(self._servers.mongo, self._build, version, document)
        self._objects.insert(objects)
        self._show(pending, version=version, info=info_of(document, time.time()))

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        record = self._records.get(source)
        if record is None or record.version is None:
            raise UnknownDocument(f"No document '{source}' is indexed.", "`athena search` shows what is.")
        self._show(record, version=None, info=None)

    def publish(self) -> None:
        """Put a rebuilt index in the place of the old one."""
        if self._is_visible:
            return
        self._purge(self._records.values())
        self._builds.show(self._build, self._manifest)
        self._builds.drop_except([self._build])

    def finish(self) -> None:
        """Delete what was replaced."""
        self._purge(self._records.values())

    @property
    def _is_visible(self) -> bool:
        return self._builds.state.build == self._build

    def _show(self, record: Record, *, version: str | None, info: DocumentInfo | None) -> None:
        """Put a version, or none, in the place of the one that is visible, by one update."""
        self._builds.lease.check()
        generation = self._builds.state.generation + self._is_visible
        retired = (*record.retired, record.version) if record.version else record.retired
        shown = replace(record, version=version, pending=None, retired=retired, changed=generation, info=info)
        if not show_version(self._servers.mongo, record, shown):
            raise StoreError(
                f"Cannot store '{record.source}': another process has taken the writer's place.",
                "Wait until it has finished and ingest again.",
            )
        self._records[record.source] = shown
        if self._is_visible:
            self._builds.count_change()
        if record.version and record.info:
            self._retired_nodes += record.info.sections + record.info.sentences
        if self._retired_nodes >= RETIRED_NODES:
            self.finish()

    def _recover(self) -> None:
        """Mend what a writer left that was broken off: count its last change, delete what it left over."""
        newest = max((record.changed for record in self._records.values()), default=0)
        if self._is_visible and newest > self._builds.state.generation:
            self._builds.count_change()
        self._purge(self._records.values())

    def _purge(self, records: Iterable[Record]) -> None:
        """Delete the versions that some records name as left over."""
        found = [record for record in records if record.leftovers or record.version is None]
        versions = [version for record in found for version in record.leftovers]
        if self._is_visible and any(record.retired for record in found):
            self._builds.begin_deleting()
        if versions:
            self._builds.lease.check()
            self._objects.delete_versions(versions)
            delete_versions(self._servers.mongo, versions)
        clean_records(self._servers.mongo, found)
        for record in found:
            if record.version is None:
                del self._records[record.source]
            else:
                self._records[record.source] = without_pending(record)
        self._retired_nodes = 0


def node_objects(document: NewDocument, version: str) -> dict[Level, list[NodeObject]]:
    """The objects of a document's version; raises `StoreError` where a node has no section or no vector."""
    by_section = sentences_by_section(document)
    objects: dict[Level, list[NodeObject]] = {"section": [], "sentence": []}
    try:
        for section in document.sections:
            objects["section"].append(
                DataObject(
                    uuid=object_id(version, section.node_id),
                    properties={
                        "node": section.node_id,
                        "version": version,
                        "lexical": lexical_text(section),
                    },
                    vector=document.vectors[section.node_id].tolist(),
                )
            )
            for position, sentence in enumerate(by_section[section.node_id]):
                objects["sentence"].append(
                    DataObject(
                        uuid=object_id(version, sentence.node_id),
                        properties={
                            "node": sentence.node_id,
                            "version": version,
                            "lexical": lexical_text(sentence),
                            "section": section.node_id,
                            "position": position,
                            "start": sentence.start_char_idx,
                            "end": sentence.end_char_idx,
                            "metadata": metadata_json(sentence),
                            "text": sentence.text,
                        },
                        vector=document.vectors[sentence.node_id].tolist(),
                    )
                )
    except KeyError as error:
        problem = f"Cannot store '{document.source}': node {error.args[0]} has no vector."
        raise StoreError(problem, "Every section and sentence must be embedded.") from error
    return objects
