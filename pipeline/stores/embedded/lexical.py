"""BM25 by tantivy: one index per level, each with its own statistics, derived from the SQLite file.

The folder has `current.json` and the folder that it names, with both indexes. `current.json` lists their
documents. Changed documents are deleted and added in one commit. The indexes are rebuilt in another folder,
which then replaces the old one: after a rebuild of the store, with another version of the analyser, if they
cannot be read, and once as many documents were deleted from them as there are. Until tantivy merges its
files, they keep the words of deleted documents, and the statistics of BM25 count these words.
Only the holder of the store's writer lock changes anything here; everyone else only searches.
"""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import threading
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import tantivy

from pipeline.analysis import ANALYSER_VERSION, lexical_terms
from pipeline.errors import StoreError
from pipeline.stores.base import LEVELS, Level, SearchRequest
from pipeline.stores.embedded.database import as_json
from pipeline.stores.embedded.documents import NODES, Scored, State, document_numbers, node_metadata

LEXICAL_FORMAT: Final = f"3.{ANALYSER_VERSION}.{version('tantivy')}"
CURRENT: Final = "current.json"

_HEAP_BYTES = 32_000_000  # of the writer; tantivy's least is 15 MB a thread
_IS_OF: Mapping[Level, str] = {"section": "node.section IS NULL", "sentence": "node.section IS NOT NULL"}

_log = logging.getLogger(__name__)

_Numbers = Collection[int]  # of documents
_Row = tuple[int, int, str]  # number of the node, number of its document, terms separated by blanks


class LexicalError(StoreError):
    """The index of words cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Derived:
    """The content of `current.json`: the folder of the indexes, and the state they were built from."""

    format: str
    index_id: str  # of the `State`
    generation: int
    folder: str
    documents: tuple[int, ...]  # numbers
    deleted: int  # how many were deleted since the folder was made


class LexicalIndex:
    """The BM25 indexes of both levels."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._opened: Derived | None = None
        self._searchers: dict[Level, tantivy.Searcher] = {}

    def search(
        self, state: State, request: SearchRequest, *, documents: _Numbers | None
    ) -> dict[Level, list[Scored]]:
        """Return the best nodes for a request's terms, a list per level; only in `documents`, if not None.

        The open index may be older than `state`: some numbers may no longer exist. {} if none is open.
        """
        if not (terms := request.terms):
            return {}
        return {
            level: search_index(searcher, terms, limit=request.limits[level], documents=documents)
            for level, searcher in self._searchers_of(state).items()
        }

    def lacking(self, state: State, terms: Collection[str]) -> frozenset[str]:
        """Return the terms that no section has, in 20 µs per term; none of them while no index is open."""
        searcher = self._searchers_of(state).get("section")
        if searcher is None:
            return frozenset()
        return frozenset(term for term in terms if not search_index(searcher, [term], limit=1))

    def is_current(self, state: State) -> bool:
        """Return whether the open index was made from `state`; first open a newer one, if there is one."""
        with self._lock:
            if self._state() != state:
                self._open()
            return self._state() == state

    def update(self, connection: sqlite3.Connection, state: State) -> None:
        """Bring the indexes up to date with `state`; the caller holds the writer's lock."""
        if not state.index_id or self.is_current(state):
            return
        current, now = self._read_current(), document_numbers(connection)
        made = Derived(LEXICAL_FORMAT, *state, uuid.uuid4().hex[:12], tuple(sorted(now)), deleted=0)
        if current is not None and current.index_id == state.index_id:
            added, gone = now - frozenset(current.documents), frozenset(current.documents) - now
            changed = replace(made, folder=current.folder, deleted=current.deleted + len(gone))
            try:
                if changed.deleted < len(now):
                    # What is added is deleted first: after a kill it may be there already.
                    self._write(connection, changed, added=added, remove=gone | added)
                    return
            except LexicalError as error:
                _log.warning("the index of words in '%s' is made anew: %s", self._folder, error)
        self._write(connection, made, added=now, remove=None)
        _log.info("rebuilt the word index for generation %d", state.generation)

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._searchers, self._opened = {}, None

    def _write(
        self, connection: sqlite3.Connection, made: Derived, *, added: _Numbers, remove: _Numbers | None
    ) -> None:
        """Delete and add documents in the indexes of a folder (a new one if `remove` is None), and use it.

        `current.json` is replaced in one rename; then all other folders are deleted.
        """
        for level in LEVELS:
            write_index(self._folder / made.folder / level, _rows(connection, level, added), remove=remove)
        with _errors():
            draft = self._folder / f"{CURRENT}.new"
            draft.write_text(json.dumps(asdict(made)), encoding="utf-8")
            draft.replace(self._folder / CURRENT)
            with self._lock:
                self._open()
            for path in self._folder.iterdir():
                if path.is_dir() and path.name != made.folder:
                    shutil.rmtree(path, ignore_errors=True)  # if open on Windows, it is deleted next time

    def _open(self) -> None:
        """Open the indexes that `current.json` names, unless they are open; log a warning if that fails."""
        current = self._read_current()
        if current is None or current == self._opened:
            return
        try:
            folder = self._folder / current.folder
            self._searchers = {level: open_searcher(folder / level) for level in LEVELS}
            self._opened = current
        except LexicalError as error:  # or just replaced: the next `update` makes it anew
            _log.warning("cannot open the index of words in '%s': %s", self._folder, error)

    def _read_current(self) -> Derived | None:
        """Return the content of `current.json`; None if it is missing, damaged or of another format."""
        try:
            stored: dict[str, Any] = json.loads((self._folder / CURRENT).read_text(encoding="utf-8"))
            found = Derived(**stored | {"documents": tuple(stored["documents"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return found if found.format == LEXICAL_FORMAT else None

    def _state(self) -> State | None:
        return State(self._opened.index_id, self._opened.generation) if self._opened else None

    def _searchers_of(self, state: State) -> dict[Level, tantivy.Searcher]:
        with self._lock:
            opened = self._state()
            return dict(self._searchers) if opened and opened.index_id == state.index_id else {}


@contextmanager
def _errors() -> Iterator[None]:
    """Turn failures to read or write the index in the block into a `LexicalError`."""
    try:
        yield
    except BaseException as error:  # a panic of tantivy's is no Exception, and has no importable name
        if isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException":
            raise LexicalError(
                f"The index of words cannot be read or written: {error!s:.150}.",
                "Free some space. If that does not help, delete the folder 'lexical' in the data folder: the "
                "next search makes it from the text.",
            ) from error
        raise


@cache
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", fast=True)
    builder.add_unsigned_field("document", indexed=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def open_searcher(folder: Path) -> tantivy.Searcher:
    """Open the index in a folder, as it is now, for searching; raises `LexicalError`."""
    with _errors():
        if not tantivy.Index.exists(str(folder)):
            raise FileNotFoundError(folder)
        return tantivy.Index.open(str(folder)).searcher()


def search_index(
    searcher: tantivy.Searcher, terms: Sequence[str], *, limit: int, documents: _Numbers | None = None
) -> list[Scored]:
    """Return the nodes with any of the terms, best first, ties by number; `documents` limits the search."""
    with _errors():
        limit = max(1, min(limit, searcher.num_docs))  # tantivy allocates room for `limit` hits at once
        hits = searcher.search(_query(terms, documents), limit=limit, count=False).hits
        numbers = searcher.fast_field_values("number", [address for _, address in hits])
    found = [Scored(int(number or 0), score) for number, (score, _) in zip(numbers, hits, strict=True)]
    return sorted(found, key=lambda scored: (-scored.score, scored.number))


def _query(terms: Sequence[str], documents: _Numbers | None) -> tantivy.Query:
    """Return a query for any of the terms; a term that occurs n times has n times the weight."""
    query = tantivy.Query.boolean_query(
        [(tantivy.Occur.Should, _term(term, count)) for term, count in Counter(terms).items()]
    )
    if documents is None:
        return query
    allowed = tantivy.Query.term_set_query(_schema(), "document", list(documents))
    unscored = tantivy.Query.const_score_query(allowed, 0.0)
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])


def _term(term: str, count: int) -> tantivy.Query:
    query = tantivy.Query.term_query(_schema(), "terms", term, index_option="freq")
    return query if count == 1 else tantivy.Query.boost_query(query, float(count))


def write_index(folder: Path, rows: Iterable[_Row], *, remove: _Numbers | None = None) -> None:
    """Delete the documents `remove` and add rows, in one commit; if `remove` is None, in a new index."""
    with _errors():
        folder.mkdir(parents=True, exist_ok=True)
        is_new = remove is None
        index = tantivy.Index(_schema(), path=str(folder)) if is_new else tantivy.Index.open(str(folder))
        writer = index.writer(heap_size=_HEAP_BYTES, num_threads=1)
        if remove:
            # By query: `delete_documents_by_term` takes the number as signed and deletes nothing.
            removed = tantivy.Query.term_set_query(_schema(), "document", list(remove))
            writer.delete_documents_by_query(removed)
        for number, document, terms in rows:
            row = tantivy.Document()  # given to the constructor, the numbers would be signed, too
            row.add_unsigned("number", number)
            row.add_unsigned("document", document)
            row.add_text("terms", terms)
            writer.add_document(row)
        writer.commit()
        writer.wait_merging_threads()


def _rows(connection: sqlite3.Connection, level: Level, documents: _Numbers) -> Iterator[_Row]:
    """Yield the nodes of these documents at one level, in the order of their numbers."""
    where = f"node.document IN (SELECT value FROM json_each(?)) AND {_IS_OF[level]}"
    for row in connection.execute(f"{NODES} WHERE {where} ORDER BY node.number", (as_json(documents),)):
        yield row[0], row[6], lexical_terms(row[5], node_metadata(row))
