"""`SentenceIndex` on the SQLite file and the two indexes that are derived from it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping
from itertools import chain

from pipeline.nodes import StoredNode
from pipeline.stores.base import (
    SENTENCES_PER_SECTION,
    Hit,
    Level,
    Manifest,
    Ranking,
    SearchRequest,
    SearchResponse,
    Vector,
)
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.documents import Scored, State, read_manifest, read_state
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.nodes import as_json, read_sentences
from pipeline.stores.embedded.vectors import VectorIndex, read_vectors
from pipeline.stores.globs import Globs, matches
from pipeline.stores.manifest import check_search
from pipeline.stores.vocabulary import count_words

# CROSS JOIN keeps SQLite from reading the whole build instead (12 ms at 100,000 sentences).
_IDS: Mapping[Level, str] = {
    "section": """
        SELECT section.number, section.id, section.id
        FROM json_each(?) CROSS JOIN section ON section.number = value
        WHERE section.build = ?
    """,
    "sentence": """
        SELECT sentence.number, sentence.id, section.id
        FROM json_each(?)
        CROSS JOIN sentence ON sentence.number = value
        CROSS JOIN section ON section.number = sentence.section
        WHERE sentence.build = ?
    """,
}
_TEXTS = "SELECT json_extract(metadata, '$.heading_path') || char(10) || text FROM section WHERE build = ?"
_EMPTY = SearchResponse((), (), (), ())


class EmbeddedSentences:
    """The sentences and vectors of the visible build, and the search over both levels."""

    def __init__(
        self,
        database: Database,
        lexical: LexicalIndex,
        *,
        manifest: Manifest | None,
        catch_up: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._database = database
        self._lexical = lexical
        self._manifest = manifest
        self._vectors = VectorIndex()
        self._catch_up = catch_up
        self._vocabulary: tuple[State, Mapping[str, int]] | None = None

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        with self._database.read() as connection:
            state = read_state(connection)
            stored = read_manifest(connection, state)
            if stored is None:
                return _EMPTY
            check_search(stored, self._manifest, request)
            if request.text:
                self._catch_up(connection)
            return self._search(connection, state, request)

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections in reading order, in one call."""
        with self._database.read() as connection:
            return read_sentences(connection, read_state(connection).visible, node_ids, sections)

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""
        with self._database.read() as connection:
            state = read_state(connection)
            manifest = read_manifest(connection, state)
            if manifest is None:
                return {}
            return read_vectors(connection, state.visible, node_ids, dimensions=manifest.dimensions)

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """The analysed terms that no section has."""
        with self._database.read() as connection:
            self._catch_up(connection)
            return self._lexical.lacking(read_state(connection), terms)

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""
        with self._database.read() as connection:
            state = read_state(connection)
            known = self._vocabulary
            if known is None or known[0] != state:
                texts = (text for (text,) in connection.execute(_TEXTS, (state.visible,)))
                known = self._vocabulary = state, count_words(texts)
        return known[1]

    def close(self) -> None:
        """Free the vectors."""
        self._vectors.close()

    def _search(self, connection: sqlite3.Connection, state: State, request: SearchRequest) -> SearchResponse:
        limits: dict[Level, int] = {
            "section": request.top_k,
            "sentence": request.top_k * SENTENCES_PER_SECTION,
        }
        documents = _documents(connection, state, request.paths)
        lexical: dict[Level, list[Scored]] = {}
        dense: dict[Level, list[Scored]] = {}
        if terms := request.terms:
            lexical = self._lexical.search(state, terms, limits=limits, documents=documents)
        if request.vector is not None:
            dense = self._vectors.search(
                connection, state, request.vector, limits=limits, documents=documents
            )
        bm25_sections, dense_sections = _hits(connection, state, "section", lexical, dense)
        bm25_sentences, dense_sentences = _hits(connection, state, "sentence", lexical, dense)
        return SearchResponse(bm25_sections, bm25_sentences, dense_sections, dense_sentences)


def _hits(
    connection: sqlite3.Connection, state: State, level: Level, *found: Mapping[Level, list[Scored]]
) -> list[Ranking]:
    """One level's rankings; numbers that the visible build does not have, or no longer has, are dropped."""
    rankings = [by_level.get(level, []) for by_level in found]
    numbers = {number for number, _ in chain.from_iterable(rankings)}
    rows = connection.execute(_IDS[level], (as_json(sorted(numbers)), state.visible))
    ids = {number: (node_id, section_id) for number, node_id, section_id in rows}
    return [
        tuple([Hit(*ids[number], score) for number, score in ranking if number in ids])
        for ranking in rankings
    ]


def _documents(connection: sqlite3.Connection, state: State, globs: Globs | None) -> frozenset[int] | None:
    """The numbers of the documents that globs match; None for all."""
    if globs is None:
        return None
    rows = connection.execute("SELECT number, source FROM document WHERE build = ?", (state.visible,))
    return frozenset(number for number, source in rows if matches(source, globs))
