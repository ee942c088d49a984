"""From rows to nodes: the queries, and what their columns mean."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from pipeline.nodes import StoredNode

SECTIONS_BY_ID = """
    SELECT section.id, section.start, section.end, section.metadata, section.text, document.id, section.number
    FROM section JOIN document ON document.number = section.document
    WHERE section.build = ? AND section.id IN (SELECT value FROM json_each(?))
"""
SECTIONS_OF_DOCUMENT = """
    SELECT section.id, section.start, section.end, section.metadata, section.text, document.id, section.number
    FROM section JOIN document ON document.number = section.document
    WHERE document.build = ? AND document.source = ? ORDER BY section.number
"""
CHILDREN = """
    SELECT section, id FROM sentence WHERE section IN (SELECT value FROM json_each(?)) ORDER BY number
"""
SENTENCES_BY_ID = """
    SELECT sentence.id, sentence.start, sentence.end, sentence.metadata, sentence.text,
           document.id, section.id
    FROM sentence
    JOIN section ON section.number = sentence.section
    JOIN document ON document.number = sentence.document
    WHERE sentence.build = ? AND sentence.id IN (SELECT value FROM json_each(?))
"""
SENTENCES_OF_SECTIONS = """
    SELECT sentence.id, sentence.start, sentence.end, sentence.metadata, sentence.text,
           document.id, section.id
    FROM section
    JOIN sentence ON sentence.section = section.number
    JOIN document ON document.number = section.document
    WHERE section.build = ? AND section.id IN (SELECT value FROM json_each(?)) ORDER BY sentence.number
"""


Row = tuple[Any, ...]


def section_nodes(connection: sqlite3.Connection, rows: Iterable[Row]) -> list[StoredNode]:
    """Sections of the rows of a `SECTIONS…` query, each with its document and its sentences."""
    found = list(rows)
    sentences: dict[int, list[str]] = {}
    numbers = json.dumps([row[6] for row in found])
    for section, sentence_id in connection.execute(CHILDREN, (numbers,)):
        sentences.setdefault(section, []).append(sentence_id)
    return [_node(row, sentence_ids=tuple(sentences.get(row[6], ()))) for row in found]


def sentence_nodes(rows: Iterable[Row]) -> list[StoredNode]:
    """Sentences of the rows of a `SENTENCES…` query, each with its document and its section."""
    return [_node(row, section_id=row[6]) for row in rows]


def _node(row: Row, *, section_id: str = "", sentence_ids: tuple[str, ...] = ()) -> StoredNode:
    node_id, start, end, metadata, text, document_id = row[:6]
    return StoredNode(node_id, text, json.loads(metadata), start, end, document_id, section_id, sentence_ids)
