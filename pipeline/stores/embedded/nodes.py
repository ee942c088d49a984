"""Between LlamaIndex's nodes and rows: their metadata as JSON, their offsets and text in columns.

LlamaIndex is imported only where a node is made: a search, and an ingest with nothing to do, make none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

# What LlamaIndex's own parts show a model of a node, besides its text.
_EMBEDDED_KEYS = frozenset({"heading_path", "header"})
_PROMPT_KEYS = frozenset({"source", "heading_path", "header"})

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


def metadata_json(node: TextNode) -> str:
    """A node's metadata as it is stored."""
    return json.dumps(node.metadata, ensure_ascii=False, separators=(",", ":"), default=str)


def section_nodes(connection: sqlite3.Connection, rows: Iterable[tuple[object, ...]]) -> list[TextNode]:
    """Section nodes of the rows of a `SECTIONS…` query, each with its document and its sentences."""
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo

    found = list(rows)
    children: dict[object, list[RelatedNodeInfo]] = {}
    numbers = json.dumps([row[6] for row in found])
    for section, sentence_id in connection.execute(CHILDREN, (numbers,)):
        info = RelatedNodeInfo(node_id=sentence_id, node_type=ObjectType.TEXT)
        children.setdefault(section, []).append(info)
    nodes = []
    for row in found:
        node = _node(row)
        node.relationships[NodeRelationship.CHILD] = list(children.get(row[6], ()))
        nodes.append(node)
    return nodes


def sentence_nodes(rows: Iterable[tuple[object, ...]]) -> list[TextNode]:
    """Sentence nodes of the rows of a `SENTENCES…` query, each with its document and its section."""
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo

    nodes = []
    for row in rows:
        node = _node(row)
        parent = RelatedNodeInfo(node_id=str(row[6]), node_type=ObjectType.TEXT)
        node.relationships[NodeRelationship.PARENT] = parent
        nodes.append(node)
    return nodes


def _node(row: tuple[object, ...]) -> TextNode:
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

    node_id, start, end, metadata_text, text, document_id = row[:6]
    metadata = json.loads(str(metadata_text))
    source = RelatedNodeInfo(node_id=str(document_id), node_type=ObjectType.DOCUMENT)
    return TextNode(
        id_=str(node_id),
        text=str(text),
        start_char_idx=start,
        end_char_idx=end,
        metadata=metadata,
        excluded_embed_metadata_keys=[key for key in metadata if key not in _EMBEDDED_KEYS],
        excluded_llm_metadata_keys=[key for key in metadata if key not in _PROMPT_KEYS],
        relationships={NodeRelationship.SOURCE: source},
    )
