"""`EmbeddedStore`: one folder with the SQLite file, which is the truth, and the index of words.

The writer takes documents in and out of one build, each in a transaction of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pipeline.errors import StoreError, UnknownDocument
from pipeline.stores.base import DocumentInfo, Manifest, NewDocument, check_manifest
from pipeline.stores.embedded.database import FILE_NAME, Database, unwritable
from pipeline.stores.embedded.documents import (
    begin_build,
    count_change,
    document_numbers,
    drop_builds_except,
    insert_document,
    list_infos,
    pending_build,
    read_manifest,
    read_state,
    remove_document,
    show_build,
)
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.reading import EmbeddedSections, EmbeddedSentences
from pipeline.stores.embedded.rows import EmbeddedRows

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.memories import Memories

LEXICAL_FOLDER = "lexical"
LOCK_WAIT_S = 10.0
NODES_PER_COMMIT = 20_000
"""Nodes that are written between two commits of the index of words: each commit costs some 50 ms."""
CHECKPOINT_WAIT_S = 0.2  # for readers in the middle of a search


class EmbeddedStore:
    """Fulfils `Store`; safe to use from several threads and from several processes.

    Readers see each document that the writer stores at their next search: by vector at once, by words after
    the writer's next commit of the index of words. Given a `manifest`, a search in an index that was made
    otherwise raises `ManifestMismatch`, also where another process has rebuilt it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        manifest: Callable[[], Manifest] | None = None,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        self._folder = folder
        self._lock_wait_s = lock_wait_s
        self._lexical = LexicalIndex(folder / LEXICAL_FOLDER)
        self.database = Database(folder / FILE_NAME)
        self.database.resume_erasure()
        self.rows = EmbeddedRows(self.database)
        self.sections = EmbeddedSections(self.database)
        self.sentences = EmbeddedSentences(
            self.database, self._lexical, self.sections, manifest=manifest, catch_up=self._catch_up
        )

    @cached_property
    def conversations(self) -> Conversations:
        """The conversations in the file."""
        from pipeline.stores.conversations import Conversations

        return Conversations(self.rows)

    @cached_property
    def memories(self) -> Memories:
        """The memories in the file."""
        from pipeline.stores.memories import Memories

        return Memories(self.rows)

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[EmbeddedWriting]:
        """Hold the single writer's place while documents are replaced; raises `ManifestMismatch`."""
        with self._writer_lock(self._lock_wait_s):
            with self.database.write() as connection:
                build = _build_to_write(connection, manifest, rebuild=rebuild)
            writing = EmbeddedWriting(self.database, self._lexical, build=build)
            yield writing
            writing.finish()

    def close(self) -> None:
        """Release files and memory."""
        self.sentences.close()
        self._lexical.close()
        self.database.close()

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Bring the index of words up to date, unless a writer is at work, who does it himself."""
        state = read_state(connection)
        if state.visible is None or self._lexical.is_current(state):
            return
        with suppress(_Taken), self._writer_lock(0), self.database.read() as now:
            self._lexical.update(now, read_state(now))

    @contextmanager
    def _writer_lock(self, wait_s: float) -> Iterator[None]:
        """Hold the writer's place; raises `StoreError` where another has it after `wait_s` seconds.

        It is not held twice, by the same thread neither. The system frees it when its process dies.
        """
        lock = FileLock(self._folder / "writer.lock", thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=0.02)
        except Timeout as error:
            raise _Taken(
                f"Cannot write to the store in '{self._folder}': a program (maybe this) is writing to it.",
                "Wait until it has finished, or stop it, and try again.",
            ) from error
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._folder, error) from error
        try:
            yield
        finally:
            lock.release()


class _Taken(StoreError):
    """Somebody else holds the writer's place."""


class EmbeddedWriting:
    """Writes to one build: the visible one, or in a rebuild the one that will be visible."""

    def __init__(self, database: Database, lexical: LexicalIndex, *, build: int) -> None:
        self._database = database
        self._lexical = lexical
        self._build = build
        self._unindexed = 0  # nodes
        with database.read() as connection:
            self.documents: list[DocumentInfo] = list_infos(connection, build)

    def replace(self, document: NewDocument) -> None:
        """Write a document, replacing its former version, in one transaction."""
        with self._database.write() as connection:
            remove_document(connection, self._build, document.source)
            insert_document(connection, self._build, document)
            if visible := self._is_visible(connection):
                count_change(connection)
        self._unindexed += len(document.sections) + len(document.sentences)
        if self._unindexed >= NODES_PER_COMMIT and visible:
            self._update_words()

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        with self._database.write() as connection:
            if not remove_document(connection, self._build, source):
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
            if self._is_visible(connection):
                count_change(connection)
                self._lexical.discard()

    def publish(self) -> None:
        """Put a rebuilt index in the place of the old one; its words first, so that none are missing."""
        with self._database.read() as connection:
            if self._is_visible(connection):
                return
            name = self._lexical.derive(connection, self._build)
        with self._database.write() as connection:
            show_build(connection, self._build)
            state, numbers = read_state(connection), document_numbers(connection, self._build)
        self._lexical.adopt(name, state, numbers)

    def finish(self) -> None:
        """Bring the index of words up to date, and empty the log."""
        self._update_words()
        self._database.truncate_log(wait_s=CHECKPOINT_WAIT_S)

    def _update_words(self) -> None:
        with self._database.read() as connection:
            self._lexical.update(connection, read_state(connection))
        self._unindexed = 0

    def _is_visible(self, connection: sqlite3.Connection) -> bool:
        return read_state(connection).visible == self._build


def _build_to_write(connection: sqlite3.Connection, manifest: Manifest, *, rebuild: bool) -> int:
    """The build to write to; raises `ManifestMismatch`.

    A rebuild of an index that has no documents would hide nothing: it writes to the visible build.
    """
    state = read_state(connection)
    stored = read_manifest(connection, state)
    if stored is None or state.visible is None:
        build = begin_build(connection, manifest)
        show_build(connection, build)
        return build
    if not rebuild:
        check_manifest(stored, manifest)
        drop_builds_except(connection, [state.visible])
        return state.visible
    build = pending_build(connection, manifest) or begin_build(connection, manifest)
    drop_builds_except(connection, [state.visible, build])
    return build
