"""Nodes out of their rows: the queries, whether a row is as it was written, and `SectionStore` over them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Level, Manifest, StoredDocument
from pipeline.stores.embedded.checksums import Damaged, check_row, is_sound
from pipeline.stores.embedded.database import ConnectionPool, snapshot
from pipeline.stores.embedded.documents import (
    find_info,
    list_infos,
    read_manifest,
    read_state,
    read_text,
)
from pipeline.stores.embedded.schema import SECTION_CHECKED, SENTENCE_CHECKED
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
SENTENCES_OF_SECTIONS = f"{_SENTENCES} section.build = ? AND section.id {_GIVEN} ORDER BY sentence.number"
_SECTIONS_BY_NUMBER = f"{_SECTIONS} section.number {_GIVEN} ORDER BY section.number"
_SENTENCES_BY_SECTION = f"{_SENTENCES} sentence.section {_GIVEN} ORDER BY sentence.number"
_CHILDREN = f"SELECT section, id FROM sentence WHERE section {_GIVEN} ORDER BY number"

Known = set[int]
"""The numbers of rows that were as they were written when they were first read: no number is given twice."""

NodeRow = tuple[Any, ...]


class EmbeddedSections:
    """Whole documents and their sections, of the visible build."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        with self._pool.borrow() as connection, snapshot(connection):
            return list_infos(connection, read_state(connection).visible, self._pool.known)

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._pool.borrow() as connection, snapshot(connection):
            build = read_state(connection).visible
            info = find_info(connection, build, source, self._pool.known)
            text = read_text(connection, build, source)
            rows = connection.execute(_SECTIONS_OF_DOCUMENT, (build, source))
            sections = section_nodes(connection, rows, self._pool.known)
        return StoredDocument(info, text, tuple(sections))

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in one call; an id that is not stored is missing from the result."""
        with self._pool.borrow() as connection, snapshot(connection):
            parameters = (read_state(connection).visible, json.dumps(list(node_ids)))
            rows = connection.execute(_SECTIONS_BY_ID, parameters)
            nodes = section_nodes(connection, rows, self._pool.known)
        return {node.node_id: node for node in nodes}

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        with self._pool.borrow() as connection, snapshot(connection):
            state = read_state(connection)
            return read_manifest(connection, state.visible, state.generation)


def node_is_sound(level: Level, row: NodeRow) -> bool:
    """True where a row that begins with `ROW` is as it was written."""
    width = _WIDTH[level]
    return is_sound(row[: width - 1], row[width - 1])


def check_node(level: Level, row: NodeRow) -> None:
    """Raise `Damaged` where a row that begins with `ROW` is not as it was written."""
    if not node_is_sound(level, row):
        raise Damaged(f"a row of the table '{level}' is not as it was written")


def section_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow], known: Known) -> list[StoredNode]:
    """Sections of the rows of a `SECTIONS…` query, each with its document and its sentences.

    Raises `Damaged` for one that is not yet `known` and not as it was written.
    """
    found = list(rows)
    sentences: dict[int, list[str]] = {}
    numbers = json.dumps([row[0] for row in found])
    for section, sentence_id in connection.execute(_CHILDREN, (numbers,)):
        sentences.setdefault(section, []).append(text_of(sentence_id))
    return [_section(row, tuple(sentences.get(row[0], ())), known) for row in found]


def sentence_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow], known: Known) -> list[StoredNode]:
    """Sentences of the rows of a `SENTENCES…` query, each with its document and its section.

    Raises `Damaged` for one that is not yet `known` and not as it was written.
    """
    found = list(rows)
    for row in found:
        if row[0] not in known:
            check_node("sentence", row)
            known.add(row[0])
    sections = metadata_of_sections(connection, {row[3] for row in found}, known)
    return [_sentence(row, sections[row[3]]) for row in found]


def metadata_of_sections(
    connection: sqlite3.Connection, numbers: Collection[int], known: Known
) -> dict[int, dict[str, Any]]:
    """The metadata of some sections, by number; raises `Damaged` where one is not there."""
    rows = connection.execute(_SECTIONS_BY_NUMBER, (json.dumps(list(numbers)),))
    found = {row[0]: _metadata(row, known) for row in rows}
    if not found.keys() >= set(numbers):
        raise Damaged("a sentence is there without its section")
    return found


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
    known, wanted = Known(), json.dumps(list(sections))
    rows: dict[int, list[NodeRow]] = {}
    for row in connection.execute(_SENTENCES_BY_SECTION, (wanted,)):
        rows.setdefault(row[3], []).append(row)
    found = []
    for section in connection.execute(_SECTIONS_BY_NUMBER, (wanted,)).fetchall():
        own = rows.get(section[0], [])
        nodes = [_section(section, (), known), *sentence_nodes(connection, own, known)]
        found.append((section[0], own[0][0] if own else section[0], nodes))
    return found


def _section(row: NodeRow, sentence_ids: tuple[str, ...], known: Known) -> StoredNode:
    metadata = _metadata(row, known)
    _, _, _, node_id, start, end, _, text, _, document_id = row[:10]
    return StoredNode(node_id, text, metadata, start, end, document_id, sentence_ids=sentence_ids)


def _metadata(row: NodeRow, known: Known) -> dict[str, Any]:
    """The metadata of a section's row, whole; raises `Damaged`."""
    document, stored = row[-2:]
    if row[0] not in known:
        check_node("section", row)
        check_row("document", (document,), stored)
        known.add(row[0])
    return read_section(document, row[6])


def _sentence(row: NodeRow, section: Mapping[str, Any]) -> StoredNode:
    _, _, _, _, node_id, start, end, own, text, _, document_id, section_id = row
    return StoredNode(node_id, text, read_sentence(section, own), start, end, document_id, section_id)
