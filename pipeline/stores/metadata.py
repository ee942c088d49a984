"""Metadata as it is stored: what nodes share stands once, with their document or their section.

A heading goes with every sentence below it; written to each of them, a short file with long headings would
take a thousand times its size.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pipeline.nodes import Node

Metadata = Mapping[str, Any]


def shared_metadata(sections: Collection[Node]) -> dict[str, Any]:
    """What all sections of a document have alike."""
    first = next(iter(sections), None)
    if first is None:
        return {}
    alike = {
        key
        for key, value in first.metadata.items()
        if all(value == one.metadata.get(key) for one in sections)
    }
    return {key: first.metadata[key] for key in alike}


def own_metadata(metadata: Metadata, above: Metadata) -> str:
    """What a node has beside its section or document, as JSON; null for what only those have."""
    own = {key: value for key, value in metadata.items() if key not in above or above[key] != value}
    return to_json(own | dict.fromkeys(above.keys() - metadata.keys()))


def whole_metadata(own: str, above: Metadata) -> dict[str, Any]:
    """The metadata of a node, from its own and that of its section or document."""
    return {key: value for key, value in {**above, **json.loads(own)}.items() if value is not None}


def to_json(metadata: Metadata) -> str:
    """Metadata as it is stored."""
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"), default=str)
