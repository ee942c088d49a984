"""From rows to LlamaIndex's nodes: the queries, and what their columns mean."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pipeline.stores.nodes import StoredNode, section_node, sentence_node

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

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


def section_nodes(connection: sqlite3.Connection, rows: Iterable[tuple[object, ...]]) -> list[TextNode]:
    """Section nodes of the rows of a `SECTIONS…` query, each with its document and its sentences."""
    found = list(rows)
    children: dict[object, list[str]] = {}
    numbers = json.dumps([row[6] for row in found])
    for section, sentence_id in connection.execute(CHILDREN, (numbers,)):
        children.setdefault(section, []).append(sentence_id)
    return [section_node(_stored(row), children.get(row[6], ())) for row in found]


def sentence_nodes(rows: Iterable[tuple[object, ...]]) -> list[TextNode]:
    """Sentence nodes of the rows of a `SENTENCES…` query, each with its document and its section."""
    return [sentence_node(_stored(row), str(row[6])) for row in rows]


def _stored(row: tuple[object, ...]) -> StoredNode:
    node_id, start, end, metadata, text, document_id = row[:6]
    return StoredNode(str(node_id), start, end, str(metadata), str(text), str(document_id))  # type: ignore[arg-type]
