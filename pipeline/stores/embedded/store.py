"""`EmbeddedStore`: one folder with the SQLite file and the index of words, which is derived from it.

One writer at a time replaces and deletes documents.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import StoreError, UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import (
    LEVELS,
    DocumentInfo,
    Manifest,
    NewDocument,
    SearchRequest,
    SearchResponse,
    Statistics,
    StoredDocument,
    Vector,
    check_manifest,
    words_of,
)
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import documents as tables
from pipeline.stores.embedded.database import FILE_NAME, Database, as_json, unwritable
from pipeline.stores.embedded.documents import State
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.rows import EmbeddedRows
from pipeline.stores.embedded.vectors import VectorIndex, read_vectors
from pipeline.stores.memories import Memories
from pipeline.stores.rows import Rows

LOCK_WAIT_S = 10.0
CHECKPOINT_WAIT_S = 0.2  # for readers in the middle of a search


class EmbeddedStore:
    """Fulfils `Store`; safe to use from several threads and from several processes.

    A search finds a document by vector as soon as the writer has stored it, and by words once the writer has
    finished. With a `manifest`, a search in an index that was made with another one raises
    `ManifestMismatch`, also if another process has rebuilt it since.
    """

    def __init__(self, folder: Path, *, manifest: Callable[[], Manifest] | None = None) -> None:
        self._folder = folder
        self._lexical = LexicalIndex(folder / "lexical")
        self.database = Database(folder / FILE_NAME)
        self.database.resume_erasure()
        self.rows: Rows = EmbeddedRows(self.database)
        self.conversations = Conversations(self.rows)
        self.memories = Memories(self.rows)
        self._manifest = manifest
        self._vectors = VectorIndex()
        self._listed: tuple[State, list[DocumentInfo]] | None = None
        self._counted: tuple[State, Statistics] | None = None
        self._words: tuple[State, Set[str]] | None = None

    def documents(self) -> list[DocumentInfo]:
        """Return all documents, sorted by source; cached until one changes (reading 10,000 takes 60 ms)."""
        with self.database.read() as connection:
            state = tables.read_state(connection)
            if self._listed is None or self._listed[0] != state:
                rows = connection.execute(f"SELECT {tables.INFO} FROM document ORDER BY source")
                self._listed = state, [DocumentInfo(*row) for row in rows]
        return [*self._listed[1]]

    def document(self, source: str) -> StoredDocument:
        """Return one document with its text and sections; raises `UnknownDocument`."""
        with self.database.read() as connection:
            query = f"SELECT number, text, {tables.INFO} FROM document WHERE source = ?"
            row = connection.execute(query, (source,)).fetchone()
            if row is None:
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")
            number, text, *info = row
            sections = tables.read_nodes(connection, "node.document = ? AND node.section IS NULL", number)
        return StoredDocument(DocumentInfo(*info), text, tuple(sections))

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Return sections and sentences by id, in the order of the ids."""
        with self.database.read() as connection:
            nodes = tables.read_nodes(connection, tables.BY_ID, as_json(node_ids))
        by_id = {node.node_id: node for node in nodes}
        return {node_id: by_id[node_id] for node_id in node_ids if node_id in by_id}

    def statistics(self) -> Statistics:
        """Return the counts and the manifest; counted again after each change (3 ms for 2,000 documents)."""
        with self.database.read() as connection:
            state = tables.read_state(connection)
            if self._counted is None or self._counted[0] != state:
                counts = connection.execute(tables.LANGUAGES).fetchall()
                languages = {language: documents for language, documents, _ in counts}
                sentences = sum(number for *_, number in counts)
                self._counted = state, Statistics(sentences, languages, tables.read_manifest(connection))
        return self._counted[1]

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search both levels by BM25 and by vector; raises `ManifestMismatch`."""
        made_with = self.statistics().manifest
        if made_with is None:
            return SearchResponse((), (), (), ())
        if self._manifest is not None:
            check_manifest(made_with, self._manifest())
        with self.database.read() as connection:
            state = self._catch_up(connection)
            documents = tables.document_numbers(connection, request.paths) if request.paths else None
            lexical = self._lexical.search(state, request, documents=documents)
            dense = self._vectors.search(connection, state, request=request, documents=documents)
            found = [by_level.get(level, []) for by_level in (lexical, dense) for level in LEVELS]
            return SearchResponse(*tables.rankings(connection, *found))

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of sections and sentences by id."""
        with self.database.read() as connection:
            return read_vectors(connection, node_ids)

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Return the terms, of these analysed ones, that no section has."""
        with self.database.read() as connection:
            return self._lexical.lacking(self._catch_up(connection), terms)

    def vocabulary(self, initial: str) -> Set[str]:
        """Return the words of all sections, in lower case, that begin with the letter `initial`."""
        with self.database.read() as connection:
            state = tables.read_state(connection)
            known = self._words
            if known is None or known[0] != state:
                rows = connection.execute(f"{tables.NODES} WHERE node.section IS NULL")
                texts = (" ".join((*tables.node_metadata(row)["heading_path"], row[5])) for row in rows)
                known = self._words = state, words_of(texts)
        return {word for word in known[1] if word.startswith(initial)}

    @contextmanager
    def writing(self, manifest: Manifest, *, rebuild: bool = False) -> Iterator[EmbeddedWriting]:
        """Hold the writer's lock in the block; raises `ManifestMismatch`, and `StoreError` if it is taken."""
        with self._writer_lock(LOCK_WAIT_S):
            with self.database.write() as connection:
                tables.begin_writing(connection, manifest, rebuild=rebuild)
            writing = EmbeddedWriting(self.database, self._lexical)
            yield writing
            writing.finish()

    def close(self) -> None:
        """Release the files."""
        self._lexical.close()
        self.database.close()

    def _catch_up(self, connection: sqlite3.Connection) -> State:
        """Update the index of words, unless a writer has the lock; return the state of this transaction."""
        state = tables.read_state(connection)
        if state.index_id and not self._lexical.is_current(state):
            with suppress(_Taken), self._writer_lock(0), self.database.read() as now:
                self._lexical.update(now, tables.read_state(now))
        return state

    @contextmanager
    def _writer_lock(self, wait_s: float) -> Iterator[None]:
        """Hold the writer's lock; raises `StoreError` if it is still taken after `wait_s` seconds.

        Not even the thread that holds it can take it again. The system frees it when its process dies.
        """
        lock = FileLock(self._folder / "writer.lock", thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=wait_s, poll_interval=0.02)
        except Timeout as error:
            raise _Taken(
                f"Cannot write to the store in '{self._folder}': this program or another is writing to it.",
                "Wait until it has finished, or stop it, and try again.",
            ) from error
        except (OSError, NotImplementedError) as error:
            raise unwritable(self._folder, error) from error
        try:
            yield
        finally:
            lock.release()


class _Taken(StoreError):
    """The writer's lock is taken."""


class EmbeddedWriting:
    """Implements `Writing` for the one process that may write."""

    def __init__(self, database: Database, lexical: LexicalIndex) -> None:
        self._database = database
        self._lexical = lexical

    def replace(self, *documents: NewDocument) -> None:
        """Write documents, replacing their former versions, in one transaction."""
        with self._database.write() as connection:
            for document in documents:
                tables.remove_document(connection, document.source)
                tables.insert_document(connection, document)

    def delete(self, source: str) -> None:
        """Remove a document; raises `UnknownDocument`."""
        with self._database.write() as connection:
            if not tables.remove_document(connection, source):
                raise UnknownDocument(f"No document '{source}' is indexed.", "`athena ingest` adds it.")

    def finish(self) -> None:
        """Bring the index of words up to date, and empty SQLite's log."""
        with self._database.read() as connection:
            self._lexical.update(connection, tables.read_state(connection))
        self._database.truncate_log(wait_s=CHECKPOINT_WAIT_S)
