"""Nodes out of their rows: the queries, whether a row is as it was written, and `SectionStore` over them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Level, Manifest, StoredDocument
from pipeline.stores.embedded.checksums import Damaged, check_row, is_sound
from pipeline.stores.embedded.database import ConnectionPool, snapshot
from pipeline.stores.embedded.documents import (
    State,
    find_info,
    list_infos,
    read_manifest,
    read_state,
    read_text,
)
from pipeline.stores.embedded.schema import SECTION_CHECKED, SENTENCE_CHECKED
from pipeline.stores.kept import KeptByState
from pipeline.stores.metadata import read_section, read_sentence


def _columns(table: str, checked: str) -> str:
    """The columns that a checksum is of, and the checksum."""
    return ", ".join(f"{table}.{name.strip()}" for name in (*checked.split(","), "checksum"))


ROW: Mapping[Level, str] = {
    "section": _columns("section", SECTION_CHECKED),
    "sentence": _columns("sentence", SENTENCE_CHECKED),
}
"""What every query of nodes begins with."""

_WIDTH: Mapping[Level, int] = {level: columns.count(",") + 1 for level, columns in ROW.items()}

_SECTIONS = f"""
    SELECT {ROW["section"]}, document.id, document.metadata, document.metadata_checksum
    FROM section JOIN document ON document.number = section.document
    WHERE
"""
_SENTENCES = f"""
    SELECT {ROW["sentence"]}, document.id, section.id
    FROM sentence
    JOIN section ON section.number = sentence.section
    JOIN document ON document.number = sentence.document
    WHERE
"""
_GIVEN = "IN (SELECT value FROM json_each(?))"
_SECTIONS_BY_ID = f"{_SECTIONS} section.build = ? AND section.id {_GIVEN}"
_SECTIONS_OF_DOCUMENT = f"{_SECTIONS} document.build = ? AND document.source = ? ORDER BY section.number"
SENTENCES_BY_ID = f"{_SENTENCES} sentence.build = ? AND sentence.id {_GIVEN}"
_SECTIONS_BY_NUMBER = f"{_SECTIONS} section.number {_GIVEN} ORDER BY section.number"
_SENTENCES_BY_SECTION = f"{_SENTENCES} sentence.section {_GIVEN} ORDER BY sentence.number"
_LANGUAGES = """
    SELECT coalesce(json_extract(metadata, '$.language'), 'en'), count(*) FROM document
    WHERE build = ? GROUP BY 1 ORDER BY 2 DESC, 1
"""
_CHILDREN = f"SELECT section, id FROM sentence WHERE section {_GIVEN} ORDER BY number"

NodeRow = tuple[Any, ...]


KEPT_CHARACTERS = 4_000_000  # of documents, as many of sections, twice as many of sentences: 40 MB in all
LEAST_SIZE = 500  # characters that the parts of a node other than its text are worth


def size_of(node: StoredNode) -> int:
    """What a node takes in memory, in characters."""
    return len(node.text) + LEAST_SIZE


class EmbeddedSections:
    """Whole documents and their sections, of the visible build. What was read is kept until that changes."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool
        self._infos: KeptByState[None, list[DocumentInfo]] = KeptByState(room=1)
        self._languages: KeptByState[None, Mapping[str, int]] = KeptByState(room=1)
        self._documents: KeptByState[str, StoredDocument] = KeptByState(
            KEPT_CHARACTERS, lambda found: len(found.text)
        )
        self._nodes: KeptByState[str, StoredNode] = KeptByState(KEPT_CHARACTERS, size_of)

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return [*self._infos.one(state, None, lambda: list_infos(connection, state.visible))]

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return self._documents.one(state, source, lambda: _document(connection, state, source))

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""
        with self._pool.borrow() as connection, snapshot(connection):
            return self.nodes(connection, read_state(connection), node_ids)

    def nodes(
        self, connection: sqlite3.Connection, state: State, node_ids: Collection[str]
    ) -> dict[str, StoredNode]:
        """The same in a transaction that has begun."""
        return self._nodes.of(state, node_ids, partial(_nodes, connection, state))

    def languages(self) -> Mapping[str, int]:
        """How many visible documents there are in each language, by ISO 639-1 code."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return self._languages.one(state, None, lambda: _languages(connection, state))

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return read_manifest(connection, state.visible, state.generation)

    def forget(self) -> None:
        """Free what is in memory; what is needed of it is read again."""
        self._infos.forget()
        self._languages.forget()
        self._documents.forget()
        self._nodes.forget()


def _document(connection: sqlite3.Connection, state: State, source: str) -> StoredDocument:
    info = find_info(connection, state.visible, source)
    text = read_text(connection, state.visible, source)
    rows = connection.execute(_SECTIONS_OF_DOCUMENT, (state.visible, source))
    return StoredDocument(info, text, tuple(section_nodes(connection, rows)))


def _languages(connection: sqlite3.Connection, state: State) -> dict[str, int]:
    rows = connection.execute(_LANGUAGES, (state.visible,))
    return {text_of(language): documents for language, documents in rows}


def _nodes(connection: sqlite3.Connection, state: State, node_ids: Collection[str]) -> dict[str, StoredNode]:
    rows = connection.execute(_SECTIONS_BY_ID, (state.visible, json.dumps(list(node_ids))))
    return {node.node_id: node for node in section_nodes(connection, rows)}


def node_is_sound(level: Level, row: NodeRow) -> bool:
    """True where a row that begins with `ROW` is as it was written."""
    width = _WIDTH[level]
    return is_sound(row[: width - 1], row[width - 1])


def check_node(level: Level, row: NodeRow) -> None:
    """Raise `Damaged` where a row that begins with `ROW` is not as it was written."""
    if not node_is_sound(level, row):
        raise Damaged(f"a row of the table '{level}' is not as it was written")


def section_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow]) -> list[StoredNode]:
    """Sections of the rows of a `SECTIONS…` query, each with its document and its sentences."""
    found = list(rows)
    sentences: dict[int, list[str]] = {}
    numbers = json.dumps([row[0] for row in found])
    for section, sentence_id in connection.execute(_CHILDREN, (numbers,)):
        sentences.setdefault(section, []).append(text_of(sentence_id))
    return [_section(row, tuple(sentences.get(row[0], ()))) for row in found]


def sentence_nodes(
    rows: Iterable[NodeRow], sections: Callable[[Collection[str]], Mapping[str, StoredNode]]
) -> list[StoredNode]:
    """Sentences of the rows of a `SENTENCES…` query, each with its document and its section.

    `sections` are asked for by id; raises `Damaged` where one is not there.
    """
    found = list(rows)
    for row in found:
        check_node("sentence", row)
    above = sections({text_of(row[-1]) for row in found})
    if any(row[-1] not in above for row in found):
        raise Damaged("a sentence is there without its section")
    return [_sentence(row, above[row[-1]].metadata) for row in found]


def metadata_of_section(connection: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The metadata of a section; raises `Damaged` where it is not there."""
    row = connection.execute(_SECTIONS_BY_NUMBER, (json.dumps([number]),)).fetchone()
    if row is None:
        raise Damaged("a sentence is there without its section")
    return _metadata(row)


def metadata_of_document(connection: sqlite3.Connection, number: int) -> dict[str, Any]:
    """The metadata that the sections of a document share; raises `Damaged` where it is not there."""
    row = connection.execute("SELECT metadata FROM document WHERE number = ?", (number,)).fetchone()
    if row is None:
        raise Damaged("a section is there without its document")
    return dict(json.loads(text_of(row[0])))


def text_of(value: object) -> str:
    """A value that was written as text; raises `Damaged` where it is none any more."""
    if not isinstance(value, str):
        raise Damaged(f"{value!r:.40} stands where text was written")
    return value


def numbered_nodes(
    connection: sqlite3.Connection, sections: Collection[int]
) -> list[tuple[int, int, list[StoredNode]]]:
    """Each section's number, its first sentence's (its own where it has none), and both levels' nodes.

    In the order of numbers, the section before its sentences. Raises `Damaged`.
    """
    wanted = json.dumps(list(sections))
    rows: dict[int, list[NodeRow]] = {}
    for row in connection.execute(_SENTENCES_BY_SECTION, (wanted,)):
        rows.setdefault(row[3], []).append(row)
    above = {row[0]: _section(row, ()) for row in connection.execute(_SECTIONS_BY_NUMBER, (wanted,))}
    by_id = {node.node_id: node for node in above.values()}
    found = []
    for number, node in above.items():
        own = rows.get(number, [])
        nodes = [node, *sentence_nodes(own, lambda _: by_id)]
        found.append((number, own[0][0] if own else number, nodes))
    return found


def _section(row: NodeRow, sentence_ids: tuple[str, ...]) -> StoredNode:
    metadata = _metadata(row)
    _, _, _, node_id, start, end, _, text, _, document_id = row[:10]
    return StoredNode(node_id, text, metadata, start, end, document_id, sentence_ids=sentence_ids)


def _metadata(row: NodeRow) -> dict[str, Any]:
    """The metadata of a section's row, whole; raises `Damaged`."""
    check_node("section", row)
    document, stored = row[-2:]
    check_row("document", (document,), stored)
    return read_section(document, row[6])


def _sentence(row: NodeRow, section: Mapping[str, Any]) -> StoredNode:
    _, _, _, _, node_id, start, end, own, text, _, document_id, section_id = row
    return StoredNode(node_id, text, read_sentence(section, own), start, end, document_id, section_id)
