"""From rows to nodes: the queries, and what their columns mean."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from typing import Any

from pipeline.nodes import StoredNode
from pipeline.stores.embedded.metadata import read_section, read_sentence

SECTIONS_BY_ID = """
    SELECT section.id, section.start, section.end, section.metadata, section.text,
           document.id, section.number, document.metadata
    FROM section JOIN document ON document.number = section.document
    WHERE section.build = ? AND section.id IN (SELECT value FROM json_each(?))
"""
SECTIONS_OF_DOCUMENT = """
    SELECT section.id, section.start, section.end, section.metadata, section.text,
           document.id, section.number, document.metadata
    FROM section JOIN document ON document.number = section.document
    WHERE document.build = ? AND document.source = ? ORDER BY section.number
"""
CHILDREN = """
    SELECT section, id FROM sentence WHERE section IN (SELECT value FROM json_each(?)) ORDER BY number
"""
SENTENCES_BY_ID = """
    SELECT sentence.id, sentence.start, sentence.end, sentence.metadata, sentence.text,
           document.id, section.id, section.number
    FROM sentence
    JOIN section ON section.number = sentence.section
    JOIN document ON document.number = sentence.document
    WHERE sentence.build = ? AND sentence.id IN (SELECT value FROM json_each(?))
"""
SENTENCES_OF_SECTIONS = """
    SELECT sentence.id, sentence.start, sentence.end, sentence.metadata, sentence.text,
           document.id, section.id, section.number
    FROM section
    JOIN sentence ON sentence.section = section.number
    JOIN document ON document.number = section.document
    WHERE section.build = ? AND section.id IN (SELECT value FROM json_each(?)) ORDER BY sentence.number
"""
METADATA_OF_SECTIONS = """
    SELECT section.number, document.metadata, section.metadata
    FROM section JOIN document ON document.number = section.document
    WHERE section.number IN (SELECT value FROM json_each(?))
"""

NodeRow = tuple[Any, ...]


def section_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow]) -> list[StoredNode]:
    """Sections of the rows of a `SECTIONS…` query, each with its document and its sentences."""
    found = list(rows)
    sentences: dict[int, list[str]] = {}
    numbers = json.dumps([row[6] for row in found])
    for section, sentence_id in connection.execute(CHILDREN, (numbers,)):
        sentences.setdefault(section, []).append(sentence_id)
    return [
        _node(row, read_section(row[7], row[3]), sentence_ids=tuple(sentences.get(row[6], ())))
        for row in found
    ]


def sentence_nodes(connection: sqlite3.Connection, rows: Iterable[NodeRow]) -> list[StoredNode]:
    """Sentences of the rows of a `SENTENCES…` query, each with its document and its section."""
    found = list(rows)
    sections = metadata_of_sections(connection, {row[7] for row in found})
    return [_node(row, read_sentence(sections[row[7]], row[3]), section_id=row[6]) for row in found]


def metadata_of_sections(
    connection: sqlite3.Connection, numbers: Collection[int]
) -> dict[int, dict[str, Any]]:
    """The metadata of some sections, by number."""
    rows = connection.execute(METADATA_OF_SECTIONS, (json.dumps(list(numbers)),))
    return {number: read_section(document, own) for number, document, own in rows}


def _node(
    row: NodeRow, metadata: dict[str, Any], *, section_id: str = "", sentence_ids: tuple[str, ...] = ()
) -> StoredNode:
    node_id, start, end, _, text, document_id = row[:6]
    return StoredNode(node_id, text, metadata, start, end, document_id, section_id, sentence_ids)
