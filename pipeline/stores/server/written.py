"""What is written to Weaviate of a document: an object a section and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weaviate.classes.data import DataObject

from pipeline.analysis import lexical_text
from pipeline.errors import StoreError
from pipeline.nodes import Node
from pipeline.stores.base import Level, NewDocument
from pipeline.stores.server.batches import NodeObject, object_id
from pipeline.stores.stored_nodes import metadata_json, sentences_by_section


def node_objects(document: NewDocument, version: str) -> dict[Level, list[NodeObject]]:
    """The objects of a document's version; raises `StoreError` where a node has no section or no vector."""
    by_section = sentences_by_section(document)
    return {
        "section": [_object(document, version, node, {}) for node in document.sections],
        "sentence": [
            _object(document, version, node, properties)
            for section in document.sections
            for node, properties in _sentences(section.node_id, by_section[section.node_id])
        ],
    }


def _sentences(section_id: str, sentences: list[Node]) -> Iterator[tuple[Node, dict[str, Any]]]:
    for position, node in enumerate(sentences):
        yield (
            node,
            {
                "section": section_id,
                "position": position,
                "start": node.start_char_idx,
                "end": node.end_char_idx,
                "metadata": metadata_json(node),
                "text": node.text,
            },
        )


def _object(document: NewDocument, version: str, node: Node, properties: dict[str, Any]) -> NodeObject:
    vector = document.vectors.get(node.node_id)
    if vector is None:
        problem = f"Cannot store '{document.source}': node {node.node_id} has no vector."
        raise StoreError(problem, "Every section and sentence must be embedded.")
    return DataObject(
        uuid=object_id(version, node.node_id),
        properties={"node": node.node_id, "version": version, "lexical": lexical_text(node), **properties},
        vector=vector.tolist(),
    )
