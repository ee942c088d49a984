"""Ids that stay the same from one ingest to the next.

document = uuid5(source); section = uuid5(document, heading path, occurrence);
sentence = uuid5(section, position).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from uuid import UUID, uuid5

NAMESPACE = UUID("7a1f0c52-3c0e-5d8b-9a43-6f1f2b6f5e11")
"""The namespace of Athena's document ids; a change of it makes every index a different one."""


def document_id(source: str) -> str:
    """The id of the document at `source`, its path relative to the corpus root."""
    return _id(NAMESPACE, source)


def section_id(document_id: str, heading_path: Sequence[str], occurrence: int) -> str:
    """The id of a section; `occurrence` counts earlier headings of the same path from 0."""
    return _id(_namespace(document_id), list(heading_path), occurrence)


def sentence_id(section_id: str, position: int) -> str:
    """The id of the leaf at `position` (from 0) in a section."""
    return _id(_namespace(section_id), position)


def _id(namespace: UUID, *parts: object) -> str:
    # JSON keeps ["a", "b"] apart from ["a/b"], and its ASCII escapes survive lone surrogates.
    return str(uuid5(namespace, json.dumps(parts)))


@functools.lru_cache(maxsize=64)
def _namespace(node_id: str) -> UUID:
    """The namespace that `node_id` spans; nodes made elsewhere may have ids that are no UUIDs."""
    try:
        return UUID(node_id)
    except ValueError:
        return uuid5(NAMESPACE, json.dumps(node_id))
