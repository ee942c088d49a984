"""Sections and sentences read from their rows, and `SectionStore` over the visible build."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentInfo, Manifest, Statistics, StoredDocument
from pipeline.stores.embedded.database import Database
from pipeline.stores.embedded.documents import (
    State,
    find_info,
    list_infos,
    read_manifest,
    read_state,
    read_statistics,
)
from pipeline.stores.metadata import read_section, read_sentence

_GIVEN = "IN (SELECT value FROM json_each(?))"
_SECTIONS = """
    SELECT section.number, section.id, section.start, section.end, section.metadata, section.text,
           document.id, document.metadata
    FROM section JOIN document ON document.number = section.document
"""
_SENTENCES = """
    SELECT sentence.id, sentence.start, sentence.end, sentence.metadata, sentence.text,
           section.number, section.id, section.metadata, document.id, document.metadata
    FROM sentence JOIN section ON section.number = sentence.section
    JOIN document ON document.number = section.document
"""
_CHILDREN = f"SELECT section, id FROM sentence WHERE section {_GIVEN} ORDER BY number"
_OF_SECTIONS = f"""
    WHERE sentence.section IN (SELECT number FROM section WHERE build = ? AND id {_GIVEN})
    ORDER BY sentence.number
"""


class EmbeddedSections:
    """Whole documents and their sections."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._statistics: tuple[State, Statistics] | None = None

    def documents(self) -> list[DocumentInfo]:
        """All visible documents, by source."""
        with self._database.read() as connection:
            return list_infos(connection, read_state(connection).visible)

    def document(self, source: str) -> StoredDocument:
        """One document whole; raises `UnknownDocument`."""
        with self._database.read() as connection:
            build = read_state(connection).visible
            info = find_info(connection, build, source)
            where = "build = ? AND source = ?"
            query = f"SELECT number, text FROM document WHERE {where}"
            number, text = connection.execute(query, (build, source)).fetchone()
            query = f"{_SECTIONS} WHERE section.document = ? ORDER BY section.number"
            sections = _sections(connection, connection.execute(query, (number,)))
        return StoredDocument(info, text, tuple(sections))

    def get_many(self, node_ids: Collection[str]) -> dict[str, StoredNode]:
        """Sections by id, in the order of `node_ids`; an id that is not stored is missing from the result."""
        query = f"{_SECTIONS} WHERE section.build = ? AND section.id {_GIVEN}"
        with self._database.read() as connection:
            rows = connection.execute(query, (read_state(connection).visible, as_json(node_ids)))
            found = {node.node_id: node for node in _sections(connection, rows)}
        return {node_id: found[node_id] for node_id in node_ids if node_id in found}

    def statistics(self) -> Statistics:
        """How much is visible."""
        with self._database.read() as connection:
            state = read_state(connection)
            known = self._statistics
            if known is None or known[0] != state:
                known = self._statistics = state, read_statistics(connection, state)
        return known[1]

    def manifest(self) -> Manifest | None:
        """What the index was made with; None while it is empty."""
        with self._database.read() as connection:
            return read_manifest(connection, read_state(connection))


def read_sentences(
    connection: sqlite3.Connection, build: int | None, node_ids: Collection[str], sections: Collection[str]
) -> dict[str, StoredNode]:
    """Sentences by id, in the order of `node_ids`, then all those of some sections in reading order."""
    query = f"{_SENTENCES} WHERE sentence.build = ? AND sentence.id {_GIVEN}"
    found: dict[str, StoredNode] = {}
    if node_ids:
        rows = connection.execute(query, (build, as_json(node_ids)))
        by_id = {node.node_id: node for node in _sentences(rows)}
        found = {node_id: by_id[node_id] for node_id in node_ids if node_id in by_id}
    if sections:
        rows = connection.execute(_SENTENCES + _OF_SECTIONS, (build, as_json(sections)))
        found |= {node.node_id: node for node in _sentences(rows)}
    return found


def as_json(values: Iterable[object]) -> str:
    """Values as a JSON list, for `json_each`."""
    return json.dumps([*values], ensure_ascii=False)


def _sections(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> list[StoredNode]:
    listed = list(rows)
    children: dict[int, list[str]] = {row[0]: [] for row in listed}
    for section, sentence_id in connection.execute(_CHILDREN, (as_json(children),)):
        children[section].append(sentence_id)
    return [
        StoredNode(
            node_id, text, read_section(shared, own), start, end, document,
            sentence_ids=tuple(children[number]),
        )
        for number, node_id, start, end, own, text, document, shared in listed
    ]  # fmt: skip


def _sentences(rows: Iterable[tuple[Any, ...]]) -> Iterator[StoredNode]:
    """The sentences of rows; the metadata of a section is read once for all its sentences."""
    above: dict[int, dict[str, Any]] = {}
    for node_id, start, end, own, text, number, section, section_own, document, shared in rows:
        if number not in above:
            above[number] = read_section(shared, section_own)
        yield StoredNode(node_id, text, read_sentence(above[number], own), start, end, document, section)
