"""`SentenceIndex` on SQLite and the two indexes derived from it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from pipeline.nodes import StoredNode
from pipeline.stores.base import (
    LEVELS,
    SENTENCES_PER_SECTION,
    Hit,
    Level,
    Manifest,
    Ranking,
    SearchRequest,
    SearchResponse,
    Vector,
)
from pipeline.stores.embedded.checksums import Damaged
from pipeline.stores.embedded.database import ConnectionPool, snapshot
from pipeline.stores.embedded.documents import Scored, State, read_manifest, read_state
from pipeline.stores.embedded.lexical import LexicalIndex
from pipeline.stores.embedded.nodes import (
    KEPT_CHARACTERS,
    SENTENCES_BY_ID,
    EmbeddedSections,
    sentence_nodes,
    size_of,
    text_of,
)
from pipeline.stores.embedded.tantivy_index import LexicalDamaged
from pipeline.stores.embedded.vectors import SectionVectors, VectorIndex, VectorMending, vectors_of
from pipeline.stores.globs import Globs, matches
from pipeline.stores.kept import KeptByState
from pipeline.stores.manifest import check_search
from pipeline.stores.vocabulary import Vocabulary, count_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
_VECTOR_PLACES = """
    SELECT id, number AS section, number FROM section
    WHERE build = :build AND id IN (SELECT value FROM json_each(:ids))
    UNION ALL
    SELECT id, section, number FROM sentence
    WHERE build = :build AND id IN (SELECT value FROM json_each(:ids))
"""
_COUNT = "SELECT count(*) FROM sentence WHERE build = ?"
_TEXTS = "SELECT json_extract(metadata, '$.heading_path') || char(10) || text FROM section WHERE build = ?"
_EMPTY = SearchResponse((), (), (), ())

KEPT_IDS = 50_000
"""Of nodes that were found, a level: 10 MB."""

Ids = tuple[str, str]  # of a node, and of its section
Found = TypeVar("Found")


class EmbeddedSentences:
    """The leaves and their vectors, and the search over both levels, of the visible build."""

    def __init__(
        self,
        pool: ConnectionPool,
        lexical: LexicalIndex,
        sections: EmbeddedSections,
        *,
        manifest: Manifest | None,
        mending: VectorMending,
        catch_up: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._pool = pool
        self._lexical = lexical
        self._sections = sections
        self._manifest = manifest
        self._mending = mending
        self._vectors = VectorIndex(mending)
        self._catch_up = catch_up
        self._nodes: KeptByState[str, StoredNode] = KeptByState(KEPT_CHARACTERS * 2, size_of)
        self._ids: Mapping[Level, KeptByState[int, Ids]] = {level: KeptByState(KEPT_IDS) for level in LEVELS}
        self._counted: KeptByState[None, int] = KeptByState(room=1)
        self._vocabulary: KeptByState[None, Vocabulary] = KeptByState(room=1)

    def search(self, request: SearchRequest) -> SearchResponse:
        """Search sections and sentences by BM25 and by vector."""
        return self._healing(lambda: self._searched(request))

    def _searched(self, request: SearchRequest) -> SearchResponse:
        with self._pool.borrow() as connection:
            if request.text:
                self._catch_up(connection)
            with snapshot(connection):
                state = read_state(connection)
                stored = read_manifest(connection, state.visible)
                if stored is None:
                    return _EMPTY
                check_search(stored, self._manifest, request)
                return self._search(connection, state, request)

    def get_many(self, node_ids: Collection[str], *, sections: Collection[str] = ()) -> dict[str, StoredNode]:
        """Sentences by id, and all those of some sections, in one call."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            above = self._sections.nodes(connection, state, sections).values()
            wanted = chain(node_ids, *(section.sentence_ids for section in above))
            return self._of(connection, state, [*dict.fromkeys(wanted)])

    def of_sections(self, section_ids: Collection[str]) -> dict[str, list[StoredNode]]:
        """All sentences of some sections, in reading order, in one call."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            above = self._sections.nodes(connection, state, section_ids)
            wanted = [*chain.from_iterable(section.sentence_ids for section in above.values())]
            nodes = self._of(connection, state, wanted)
            if not nodes.keys() >= {*wanted}:
                raise Damaged("a section is there without its sentences")
        return {
            section_id: [nodes[sentence_id] for sentence_id in section.sentence_ids]
            for section_id, section in above.items()
            if section.sentence_ids
        }

    def _of(
        self, connection: sqlite3.Connection, state: State, node_ids: Collection[str]
    ) -> dict[str, StoredNode]:
        """Sentences by id."""

        def read(missing: Collection[str]) -> dict[str, StoredNode]:
            rows = connection.execute(SENTENCES_BY_ID, (state.visible, json.dumps(list(missing))))
            nodes = sentence_nodes(rows, partial(self._sections.nodes, connection, state))
            return {node.node_id: node for node in nodes}

        return self._nodes.of(state, node_ids, read)

    def vectors(self, node_ids: Collection[str]) -> dict[str, Vector]:
        """Vectors of sections and sentences by id, in one call."""
        from pipeline.stores.embedded.vector_rows import unpack

        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            manifest = read_manifest(connection, state.visible)
            if manifest is None:
                return {}
            parameters = {"build": state.visible, "ids": json.dumps(list(node_ids))}
            places = connection.execute(_VECTOR_PLACES, parameters).fetchall()
            found = vectors_of(connection, {section for _, section, _ in places}, self._mending)
            unpacked = {
                section: unpack(stored.vectors, manifest.dimensions) for section, stored in found.items()
            }
            return {
                node_id: _row_of(number, found[section], unpacked[section])
                for node_id, section, number in places
            }

    def count(self) -> int:
        """How many sentences are indexed."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return self._counted.one(state, None, lambda: _count(connection, state))

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of some analysed terms that no node has."""
        return self._healing(lambda: self._lacking(terms))

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word is written in the sections and their headings, in lower case."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return self._vocabulary.one(state, None, lambda: count_words(_texts(connection, state)))

    def forget(self) -> None:
        """Free what is in memory; what is needed of it is read again."""
        self._vectors.forget()
        self._nodes.forget()
        self._counted.forget()
        self._vocabulary.forget()
        for ids in self._ids.values():
            ids.forget()

    def _healing(self, ask: Callable[[], Found]) -> Found:
        """What is asked for; a lexical index that was damaged since it was opened is looked at again."""
        try:
            return ask()
        except LexicalDamaged:
            self._lexical.close()
            return ask()

    def _lacking(self, terms: Collection[str]) -> frozenset[str]:
        with self._pool.borrow() as connection:
            self._catch_up(connection)
            with snapshot(connection):
                state = read_state(connection)
        return self._lexical.lacking(state, terms)

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
        bm25_sections, dense_sections = self._hits(connection, state, "section", (lexical, dense))
        bm25_sentences, dense_sentences = self._hits(connection, state, "sentence", (lexical, dense))
        return SearchResponse(bm25_sections, bm25_sentences, dense_sections, dense_sentences)

    def _hits(
        self,
        connection: sqlite3.Connection,
        state: State,
        level: Level,
        found: Sequence[Mapping[Level, list[Scored]]],
    ) -> list[Ranking]:
        """One level's rankings; numbers that SQLite does not have, or no longer has, are dropped."""
        rankings = [by_level.get(level, []) for by_level in found]
        numbers = {number for ranking in rankings for number, _ in ranking}
        ids = self._ids[level].of(state, numbers, partial(_read_ids, connection, state, level))
        return [
            tuple([Hit(*ids[number], score) for number, score in ranking if number in ids])
            for ranking in rankings
        ]


def _read_ids(
    connection: sqlite3.Connection, state: State, level: Level, numbers: Collection[int]
) -> dict[int, Ids]:
    """The ids of some nodes and of their sections, by number."""
    rows = connection.execute(_IDS[level], (json.dumps(sorted(numbers)), state.visible))
    return {number: (text_of(node_id), text_of(section_id)) for number, node_id, section_id in rows}


def _count(connection: sqlite3.Connection, state: State) -> int:
    """How many sentences there are: 3 ms at 2,000 documents, and each search asks."""
    return int(connection.execute(_COUNT, (state.visible,)).fetchone()[0])


def _texts(connection: sqlite3.Connection, state: State) -> Iterator[str]:
    return (text_of(text) for (text,) in connection.execute(_TEXTS, (state.visible,)))


def _row_of(number: int, stored: SectionVectors, rows: NDArray[np.float16]) -> Vector:
    """A node's vector among those of its section: the first is the section's own."""
    row = 0 if number == stored.section else number - stored.first_sentence + 1
    if not 0 <= row < len(rows):
        raise Damaged("a sentence is numbered otherwise than it was written")
    vector: Vector = rows[row].astype("float32")
    return vector


def _documents(connection: sqlite3.Connection, state: State, globs: Globs | None) -> frozenset[int] | None:
    """The numbers of the documents that globs mean; None for all."""
    if globs is None:
        return None
    rows = connection.execute("SELECT number, source FROM document WHERE build = ?", (state.visible,))
    return frozenset(number for number, source in rows if matches(source, globs))
