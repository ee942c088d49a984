"""Metadata as it is stored: what nodes share stands once, with their document or their section.

A name goes with every section and sentence below it; written to each of them, a short file with long names
would take a thousand times its size.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pipeline.nodes import Node

OF_DOCUMENT = ("source", "title", "aliases", "keywords", "language", "version")
"""Stored with a document, for its sections."""
OF_SECTION = ("source", "title", "heading_path", "aliases", "keywords", "language")
"""Taken by sentences from their section."""

Metadata = Mapping[str, Any]


def document_metadata(sections: Collection[Node]) -> str:
    """What all sections of a document share."""
    first = next(iter(sections), None)
    shared = {key: first.metadata[key] for key in OF_DOCUMENT if key in first.metadata} if first else {}
    return _to_json(shared)


def section_metadata(section: Node, document: Metadata) -> str:
    """What a section has beside what is stored with its document."""
    return _beside(section.metadata, document, OF_DOCUMENT)


def sentence_metadata(sentence: Node, section: Node) -> str:
    """What a sentence has beside what is stored with its section."""
    return _beside(sentence.metadata, section.metadata, OF_SECTION)


def read_section(document: str, own: str) -> dict[str, Any]:
    """The metadata of a section, whole."""
    return {**json.loads(document), **json.loads(own)}


def read_sentence(section: Metadata, own: str) -> dict[str, Any]:
    """The metadata of a sentence, whole."""
    return {**{key: section[key] for key in OF_SECTION if key in section}, **json.loads(own)}


def _beside(metadata: Metadata, above: Metadata, keys: Collection[str]) -> str:
    return _to_json(
        {
            key: value
            for key, value in metadata.items()
            if key not in keys or key not in above or above[key] != value
        }
    )


def _to_json(metadata: Metadata) -> str:
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), default=str)
