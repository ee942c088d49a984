"""`SectionStore` and `SentenceIndex` over the SQLite file and its derived indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Set
from itertools import chain

from pipeline.nodes import StoredNode
from pipeline.stores.base import (
    SENTENCES_PER_SECTION,
    DocumentInfo,
    Hit,
    Level,
    Manifest,
    Ranking,
    SearchRequest,
    SearchResponse,
    Statistics,
    StoredDocument,
    Vector,
    check_search,
    words_of,
)
from pipeline.stores.embedded.database import Database, as_json
from pipeline.stores.embedded.documents import (
    NODES,
    Scored,
    State,
    list_infos,
    node_metadata,
    read_document,
    read_nodes,
    read_state,
    read_statistics,
)
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.vectors import VectorIndex, read_vectors
from pipeline.stores.globs import Globs, matches

# CROSS JOIN keeps SQLite from reading all nodes instead (12 ms at 100,000 sentences).
_IDS = """
    SELECT node.number, node.id, coalesce(section.id, node.id)
    FROM json_each(?) CROSS JOIN node ON node.number = value
    LEFT JOIN node AS section ON section.number = node.section
"""
_BY_ID = "node.id IN (SELECT value FROM json_each(?))"
_OF_SECTIONS = "node.section IN (SELECT number FROM node WHERE id IN (SELECT value FROM json_each(?)))"
_EMPTY = SearchResponse((), (), (), ())


class EmbeddedSections:
    """Fulfils `SectionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._statistics: tuple[State, Statistics] | None = None

    def documents(self) -> list[DocumentInfo]:
        """All documents, by source."""
        with self._database.read() as connection:
            return list_infos(connection)

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._database.read() as connection:
            return read_document(connection, source)

    def get_many(
        self, node_ids: Collection[str], *, of_sections: Collection[str] = ()
    ) -> dict[str, StoredNode]:
        """Nodes by id, in the order of `node_ids`, then all sentences of some sections."""
        with self._database.read() as connection:
            found = dict[str, StoredNode]()
            if node_ids:
                nodes = read_nodes(connection, _BY_ID, as_json(node_ids))
                by_id = {node.node_id: node for node in nodes}
                found = {node_id: by_id[node_id] for node_id in node_ids if node_id in by_id}
            if of_sections:
                nodes = read_nodes(connection, _OF_SECTIONS, as_json(of_sections))
                found |= {node.node_id: node for node in nodes}
        return found

    def statistics(self) -> Statistics:
        """How much is indexed, and what it was made with."""
        with self._database.read() as connection:
            state = read_state(connection)
            known = self._statistics
            if known is None or known[0] != state:
                known = self._statistics = state, read_statistics(connection)
        return known[1]


class EmbeddedSentences:
    """Fulfils `SentenceIndex`."""

    def __init__(
        self,
        database: Database,
        lexical: LexicalIndex,
        sections: EmbeddedSections,
        *,
        manifest: Callable[[], Manifest] | None,
        catch_up: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._database = database
        self._lexical = lexical
        self._sections = sections
        self._manifest = manifest
        self._vectors = VectorIndex()
        self._catch_up = catch_up
        self._words: tuple[State, Set[str]] | None = None

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        made_with = self._sections.statistics().manifest
        if made_with is None:
            return _EMPTY
        check_search(made_with, self._manifest, request)
        with self._database.read() as connection:
            if request.text:
                self._catch_up(connection)
            return self._search(connection, read_state(connection), request)

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """The vectors of sections and sentences by id."""
        with self._database.read() as connection:
            return read_vectors(connection, node_ids)

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """The analysed terms that no section has."""
        with self._database.read() as connection:
            self._catch_up(connection)
            return self._lexical.lacking(read_state(connection), terms)

    def vocabulary(self, initial: str) -> Set[str]:
        """The words of the sections that begin with a letter, in lower case."""
        with self._database.read() as connection:
            state = read_state(connection)
            known = self._words
            if known is None or known[0] != state:
                rows = connection.execute(f"{NODES} WHERE node.section IS NULL")
                headings = ((node_metadata(row, {})["heading_path"], row[5]) for row in rows)
                known = self._words = state, words_of(" ".join((*path, text)) for path, text in headings)
        return {word for word in known[1] if word.startswith(initial)}

    def close(self) -> None:
        """Free the vectors."""
        self._vectors.close()

    def _search(self, connection: sqlite3.Connection, state: State, request: SearchRequest) -> SearchResponse:
        limits: dict[Level, int] = {
            "section": request.top_k,
            "sentence": request.top_k * SENTENCES_PER_SECTION,
        }
        documents = _documents(connection, request.paths)
        lexical: dict[Level, list[Scored]] = {}
        dense: dict[Level, list[Scored]] = {}
        if terms := request.terms:
            lexical = self._lexical.search(state, terms, limits=limits, documents=documents)
        if request.vector is not None:
            dense = self._vectors.search(
                connection, state, request.vector, limits=limits, documents=documents
            )
        return SearchResponse(*_hits(connection, lexical, dense))


def _hits(
    connection: sqlite3.Connection,
    lexical: Mapping[Level, list[Scored]],
    dense: Mapping[Level, list[Scored]],
) -> list[Ranking]:
    """The four rankings; numbers that are not stored any more are dropped."""
    levels: tuple[Level, ...] = ("section", "sentence")
    found = [by_level.get(level, []) for by_level in (lexical, dense) for level in levels]
    numbers = {number for number, _ in chain.from_iterable(found)}
    rows = connection.execute(_IDS, (as_json(sorted(numbers)),))
    ids = {number: (node_id, section_id) for number, node_id, section_id in rows}
    return [
        tuple([Hit(*ids[number], score) for number, score in ranking if number in ids]) for ranking in found
    ]


def _documents(connection: sqlite3.Connection, globs: Globs | None) -> frozenset[int] | None:
    """The numbers of the documents that globs match; None for all."""
    if globs is None:
        return None
    rows = connection.execute("SELECT number, source FROM document")
    return frozenset(number for number, source in rows if matches(source, globs))
