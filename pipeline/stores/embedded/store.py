"""`EmbeddedStore`: one folder with the SQLite file, which is the truth, and the index of words.

One writer at a time replaces and deletes documents.
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
from pipeline.stores.base import Manifest, NewDocument
from pipeline.stores.embedded.database import FILE_NAME, Database, unwritable
from pipeline.stores.embedded.documents import (
    begin_writing,
    count_change,
    insert_document,
    read_state,
    remove_document,
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
                begin_writing(connection, manifest, rebuild=rebuild)
            writing = EmbeddedWriting(self.database, self._lexical)
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
        if not state.index_id or self._lexical.is_current(state):
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
    """Fulfils `Writing`, for whoever holds the writer's place."""

    def __init__(self, database: Database, lexical: LexicalIndex) -> None:
        self._database = database
        self._lexical = lexical
        self._unindexed = 0  # nodes

    def replace(self, *documents: NewDocument) -> None:
        """Write documents, replacing their former versions, in one transaction."""
        with self._database.write() as connection:
            for document in documents:
                remove_document(connection, document.source)
                insert_document(connection, document)
                self._unindexed += len(document.sections) + len(document.sentences)
            count_change(connection)
        if self._unindexed >= NODES_PER_COMMIT:
            self._update_words()

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        with self._database.write() as connection:
            if not remove_document(connection, source):
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
            count_change(connection)
            self._lexical.discard()

    def finish(self) -> None:
        """Bring the index of words up to date, and empty the log."""
        self._update_words()
        self._database.truncate_log(wait_s=CHECKPOINT_WAIT_S)

    def _update_words(self) -> None:
        with self._database.read() as connection:
            self._lexical.update(connection, read_state(connection))
        self._unindexed = 0
