"""`EmbeddedStore`: one folder with one SQLite file, which is the truth, and what is derived from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.stores.base import Manifest
from pipeline.stores.embedded.database import FILE_NAME, ConnectionPool, unwritable
from pipeline.stores.embedded.documents import read_state
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.lock import WriterLock
from pipeline.stores.embedded.sections import EmbeddedSections
from pipeline.stores.embedded.sentences import EmbeddedSentences
from pipeline.stores.embedded.writing import EmbeddedWriting, build_to_write, drop_unfinished

LEXICAL_FOLDER = "lexical"
LOCK_WAIT_S = 10.0


class EmbeddedStore:
    """Fulfils `DocumentStore`; safe to use from several threads and from several processes.

    Readers see each document that the writer stores at their next search: by vector at once, by words
    after the writer's next commit of the lexical index. Given a `manifest`, a search in an index that was
    made otherwise raises `ManifestMismatch`, also where it was rebuilt by another process meanwhile.
    """

    def __init__(
        self, folder: Path, *, manifest: Manifest | None = None, lock_wait_s: float = LOCK_WAIT_S
    ) -> None:
        self._folder = folder
        self._pool = ConnectionPool(folder / FILE_NAME)
        self._lexical = LexicalIndex(folder / LEXICAL_FOLDER)
        self._lock = WriterLock(folder)
        self._lock_wait_s = lock_wait_s
        self.sections = EmbeddedSections(self._pool)
        self.sentences = EmbeddedSentences(
            self._pool, self._lexical, manifest=manifest, catch_up=self._catch_up
        )

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[EmbeddedWriting]:
        """Hold the single writer's place while documents are replaced; raises `ManifestMismatch`."""
        with self._turn() as connection:
            build = build_to_write(connection, manifest, rebuild=rebuild)
            writing = EmbeddedWriting(connection, self._lexical, build=build)
            yield writing
            writing.finish()

    def delete_document(self, source: str) -> None:
        """Remove a document with all that was made of it; raises `UnknownDocument`."""
        with self._turn() as connection:
            drop_unfinished(connection)
            writing = EmbeddedWriting(connection, self._lexical, build=read_state(connection).visible or 0)
            writing.delete(source)
            writing.finish()

    def close(self) -> None:
        """Release files and connections."""
        self.sentences.close()
        self._lexical.close()
        self._pool.close()

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
        with self._lock.try_hold() as held:
            if held:
                self._lexical.update(connection, read_state(connection))
