"""The writer's turn: documents in and out of one build, each in a transaction of its own."""

from __future__ import annotations

import sqlite3

from pipeline.errors import UnknownDocument
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument
from pipeline.stores.embedded.database import transaction
from pipeline.stores.embedded.documents import (
    begin_build,
    drop_builds_except,
    insert_document,
    list_infos,
    log_change,
    pending_build,
    read_manifest,
    read_state,
    remove_document,
    show_build,
)
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.manifest import check_manifest

NODES_PER_COMMIT = 20_000
"""Nodes written between two catch-ups of the lexical index: each costs some 50 ms of its own."""

_CHECKPOINT_WAIT_MS = 200  # for readers in the middle of a search


class EmbeddedWriting:
    """Writes to one build: the visible one, or in a rebuild the one that will be."""

    def __init__(self, connection: sqlite3.Connection, lexical: LexicalIndex, *, build: int) -> None:
        self._connection = connection
        self._lexical = lexical
        self._build = build
        self._unindexed_nodes = 0

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source."""
        return list_infos(self._connection, self._build, set())

    def replace(self, document: NewDocument) -> None:
        """Write a document, replacing its former version, in one transaction."""
        with transaction(self._connection):
            removed = remove_document(self._connection, self._build, document.source)
            added = insert_document(self._connection, self._build, document)
            if self._is_visible():
                log_change(self._connection, removed=removed, added=added)
        self._unindexed_nodes += len(document.sections) + len(document.sentences)
        if self._unindexed_nodes >= NODES_PER_COMMIT and self._is_visible():
            self._lexical.update(self._connection, read_state(self._connection))
            self._unindexed_nodes = 0

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        with transaction(self._connection):
            number = remove_document(self._connection, self._build, source)
            if number is None:
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena search` shows what is.")
            if self._is_visible():
                log_change(self._connection, removed=number, added=None)

    def check(self) -> None:
        """Nothing to look at: a file that cannot be written says so when it is."""

    def publish(self) -> None:
        """Put a rebuilt index in the place of the old one; its words first, so that none are missing."""
        if self._is_visible():
            return
        name = self._lexical.derive(self._connection, self._build)
        with transaction(self._connection):
            show_build(self._connection, self._build)
            drop_builds_except(self._connection, [self._build])
        self._lexical.adopt(name, read_state(self._connection))

    def finish(self) -> None:
        """Bring the lexical index up to date, and leave nothing of what was deleted in any file."""
        self._lexical.update(self._connection, read_state(self._connection), purge=True)
        (wait_ms,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
        self._connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_WAIT_MS}")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")

    def _is_visible(self) -> bool:
        return read_state(self._connection).visible == self._build


def build_to_write(connection: sqlite3.Connection, manifest: Manifest, *, rebuild: bool) -> int:
    """The build to write to; raises `ManifestMismatch`.

    A rebuild of an index that has no documents would hide nothing: it writes to the visible build.
    """
    with transaction(connection):
        visible = read_state(connection).visible
        stored = read_manifest(connection, visible)
        if visible is not None and stored is not None:
            return _beside(connection, manifest, visible) if rebuild else _same(connection, manifest, visible)
        build = begin_build(connection, manifest)
        show_build(connection, build)
        drop_builds_except(connection, [build])
        return build


def drop_unfinished(connection: sqlite3.Connection) -> None:
    """Drop unfinished rebuilds: what is deleted from the index must not survive in one."""
    with transaction(connection):
        drop_builds_except(connection, [read_state(connection).visible])


def _same(connection: sqlite3.Connection, manifest: Manifest, visible: int) -> int:
    check_manifest(read_manifest(connection, visible), manifest)
    drop_builds_except(connection, [visible])
    return visible


def _beside(connection: sqlite3.Connection, manifest: Manifest, visible: int) -> int:
    build = pending_build(connection, manifest) or begin_build(connection, manifest)
    drop_builds_except(connection, [visible, build])
    return build
