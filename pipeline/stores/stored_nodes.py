"""Nodes as every backend keeps them: metadata as JSON, sentences by their section."""

from __future__ import annotations

import json

from pipeline.errors import StoreError
from pipeline.nodes import Node
from pipeline.stores.base import NewDocument


def metadata_json(node: Node) -> str:
    """A node's metadata as it is stored."""
    return json.dumps(node.metadata, ensure_ascii=False, separators=(",", ":"), default=str)


def sentences_by_section(document: NewDocument) -> dict[str, list[Node]]:
    """The sentences of every section of a document, in order; raises `StoreError` for one of no section."""
    by_section: dict[str, list[Node]] = {section.node_id: [] for section in document.sections}
    for sentence in document.sentences:
        parent = sentence.parent_node.node_id if sentence.parent_node else ""
        if parent not in by_section:
            raise StoreError(
                f"Cannot store '{document.source}': sentence {sentence.node_id} has no section in it.",
                "Its splitter must set PARENT.",
            )
        by_section[parent].append(sentence)
    return by_section
