"""`EmbeddedStore`: one folder with one SQLite file, which is the truth, and what is derived from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import StoreDamaged
from pipeline.stores.base import Level, Manifest
from pipeline.stores.embedded.database import FILE_NAME, ConnectionPool, snapshot, transaction, unwritable
from pipeline.stores.embedded.documents import read_state, write_vectors
from pipeline.stores.embedded.examining import Examination, examine
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.lexical_copy import LexicalCopy
from pipeline.stores.embedded.lock import WriterLock
from pipeline.stores.embedded.mending import Embed, SectionVectors, VectorMending
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
            manifest=manifest,
            mending=VectorMending(embed, manifest=manifest, keep=self._keep_vectors),
            catch_up=self._catch_up,
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
        self.sentences.forget()
        self._lexical.close()
        if self._copy:
            self._copy.renew()
