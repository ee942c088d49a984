"""`EmbeddedStore`: one folder with one SQLite file, which is the truth, and what is derived from it.

A writer's turn takes documents in and out of one build, each in a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import StoreDamaged, UnknownDocument
from pipeline.stores.base import DocumentInfo, Level, Manifest, NewDocument
from pipeline.stores.embedded.database import FILE_NAME, ConnectionPool, snapshot, transaction, unwritable
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
    write_vectors,
)
from pipeline.stores.embedded.lexical import LexicalCopy, LexicalIndex
from pipeline.stores.embedded.lock import WriterLock
from pipeline.stores.embedded.nodes import EmbeddedSections
from pipeline.stores.embedded.sentences import EmbeddedSentences
from pipeline.stores.embedded.vectors import Embed, SectionVectors, VectorMending
from pipeline.stores.manifest import check_manifest

if TYPE_CHECKING:
    from pipeline.stores.embedded.damage import Examination

LEXICAL_FOLDER = "lexical"
LOCK_WAIT_S = 10.0
NODES_PER_COMMIT = 20_000
"""Nodes written between two catch-ups of the lexical index: each costs some 50 ms of its own."""

_CHECKPOINT_WAIT_MS = 200  # for readers in the middle of a search


class EmbeddedStore:
    """Fulfils `DocumentStore`; safe to use from several threads and from several processes.

    Readers see each document that the writer stores at their next search: by vector at once, by words
    after the writer's next commit of the lexical index. Given a `manifest`, a search in an index that was
    made otherwise raises `ManifestMismatch`, also where it was rebuilt by another process meanwhile.
    Damaged vectors are made again with `embed`, if given. A folder that may only be read is searched with a
    copy of its lexical index.
    """

    def __init__(
        self,
        folder: Path,
        *,
        manifest: Manifest | None = None,
        embed: Embed | None = None,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        self._folder = folder
        self._pool = ConnectionPool(folder / FILE_NAME, on_exchange=self._forget)
        self._lock = WriterLock(folder)
        self._lock_wait_s = lock_wait_s
        self._copy = LexicalCopy(folder / LEXICAL_FOLDER) if self._pool.read_only else None
        self._lexical = LexicalIndex(self._copy.folder if self._copy else folder / LEXICAL_FOLDER)
        self.sections = EmbeddedSections(self._pool)
        self.sentences = EmbeddedSentences(
            self._pool,
            self._lexical,
            self.sections,
            manifest=manifest,
            mending=VectorMending(embed, manifest=manifest, keep=self._keep_vectors),
            catch_up=self._catch_up,
        )

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[EmbeddedWriting]:
        """Hold the single writer's place while documents are replaced; raises `ManifestMismatch`."""
        with self._turn() as connection:
            build = _build_to_write(connection, manifest, rebuild=rebuild)
            writing = EmbeddedWriting(connection, self._lexical, build=build)
            yield writing
            writing.finish()

    def delete_document(self, source: str) -> None:
        """Remove a document with all that was made of it; raises `UnknownDocument`."""
        with self._turn() as connection:
            with transaction(connection):  # what is deleted must not survive in an unfinished rebuild
                drop_builds_except(connection, [read_state(connection).visible])
            writing = EmbeddedWriting(connection, self._lexical, build=read_state(connection).visible or 0)
            writing.delete(source)
            writing.finish()

    def close(self) -> None:
        """Release files and connections."""
        self.sections.forget()
        self.sentences.forget()
        self._lexical.close()
        self._pool.close()
        if self._copy:
            self._copy.remove()

    def examine(self) -> Examination:
        """What of it is not as it was written; raises `StoreError` where it should be writable and is not."""
        if not self._pool.read_only:
            with self._pool.borrow() as connection, transaction(connection):
                pass
        from pipeline.stores.embedded.damage import examine

        with self._pool.borrow() as connection, snapshot(connection):
            return examine(connection)

    def indexed_words(self) -> dict[Level, int]:
        """How many nodes the lexical index has, which is brought up to date first."""
        with self._pool.borrow() as connection:
            self._catch_up(connection)
        return self._lexical.counts()

    @contextmanager
    def _turn(self) -> Iterator[sqlite3.Connection]:
        with self._lock.hold(self._lock_wait_s), self._pool.borrow() as connection:
            try:
                yield connection
            except PermissionError as error:
                raise unwritable(self._folder, error) from error

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Bring the lexical index up to date, unless a writer is at work, who does it himself."""
        state = read_state(connection)
        if state.visible is None or self._lexical.is_current(state):
            return
        with (self._copy.lock if self._copy else self._lock).try_hold() as held:
            if held:
                self._lexical.update(connection, read_state(connection))

    def _keep_vectors(self, mended: Sequence[SectionVectors]) -> bool:
        with self._lock.try_hold() as held:
            if not held:
                return False
            try:
                with self._pool.borrow() as connection, transaction(connection):
                    for section in mended:
                        write_vectors(connection, *section)
            except StoreDamaged:  # the pages themselves: salvage makes new ones
                return False
        return True

    def _forget(self) -> None:
        """Forget what was derived from a file that is not there any more."""
        self.sections.forget()
        self.sentences.forget()
        self._lexical.close()
        if self._copy:
            self._copy.renew()


class EmbeddedWriting:
    """Writes to one build: the visible one, or in a rebuild the one that will be."""

    def __init__(self, connection: sqlite3.Connection, lexical: LexicalIndex, *, build: int) -> None:
        self._connection = connection
        self._lexical = lexical
        self._build = build
        self._unindexed_nodes = 0

    def documents(self) -> list[DocumentInfo]:
        """The documents written so far, by source."""
        return list_infos(self._connection, self._build)

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


def _build_to_write(connection: sqlite3.Connection, manifest: Manifest, *, rebuild: bool) -> int:
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


def _same(connection: sqlite3.Connection, manifest: Manifest, visible: int) -> int:
    check_manifest(read_manifest(connection, visible), manifest)
    drop_builds_except(connection, [visible])
    return visible


def _beside(connection: sqlite3.Connection, manifest: Manifest, visible: int) -> int:
    build = pending_build(connection, manifest) or begin_build(connection, manifest)
    drop_builds_except(connection, [visible, build])
    return build
