"""LlamaIndex's nodes as every backend keeps them: offsets, text, and metadata as JSON.

LlamaIndex is imported only where a node is made: a search, and an ingest with nothing to do, make none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import StoreError
from pipeline.stores.base import NewDocument

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

# What LlamaIndex's own parts show a model of a node, besides its text.
_EMBEDDED_KEYS = frozenset({"heading_path", "header"})
_PROMPT_KEYS = frozenset({"source", "heading_path", "header"})


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A section or a sentence as it is kept, with the document that it belongs to."""

    id: str
    start: int | None
    end: int | None
    metadata: str  # JSON
    text: str
    document_id: str


def metadata_json(node: TextNode) -> str:
    """A node's metadata as it is stored."""
    return json.dumps(node.metadata, ensure_ascii=False, separators=(",", ":"), default=str)


def sentences_by_section(document: NewDocument) -> dict[str, list[TextNode]]:
    """The sentences of every section of a document, in order; raises `StoreError` for one of no section."""
    by_section: dict[str, list[TextNode]] = {section.node_id: [] for section in document.sections}
    for sentence in document.sentences:
        parent = sentence.parent_node.node_id if sentence.parent_node else ""
        if parent not in by_section:
            raise StoreError(
                f"Cannot store '{document.source}': sentence {sentence.node_id} has no section in it.",
                "Its splitter must set PARENT.",
            )
        by_section[parent].append(sentence)
    return by_section


def section_node(stored: StoredNode, children: Iterable[str]) -> TextNode:
    """A section that knows its document and its sentences."""
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo

    node = _node(stored)
    node.relationships[NodeRelationship.CHILD] = [
        RelatedNodeInfo(node_id=child, node_type=ObjectType.TEXT) for child in children
    ]
    return node


def sentence_node(stored: StoredNode, section_id: str) -> TextNode:
    """A sentence that knows its document and its section."""
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo

    node = _node(stored)
    parent = RelatedNodeInfo(node_id=section_id, node_type=ObjectType.TEXT)
    node.relationships[NodeRelationship.PARENT] = parent
    return node


def _node(stored: StoredNode) -> TextNode:
    from llama_index.core.schema import NodeRelationship, ObjectType, RelatedNodeInfo, TextNode

    metadata = json.loads(stored.metadata)
    source = RelatedNodeInfo(node_id=stored.document_id, node_type=ObjectType.DOCUMENT)
    return TextNode(
        id_=stored.id,
        text=stored.text,
        start_char_idx=stored.start,
        end_char_idx=stored.end,
        metadata=metadata,
        excluded_embed_metadata_keys=[key for key in metadata if key not in _EMBEDDED_KEYS],
        excluded_llm_metadata_keys=[key for key in metadata if key not in _PROMPT_KEYS],
        relationships={NodeRelationship.SOURCE: source},
    )
