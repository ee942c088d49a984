"""Suggested topics: headings near an answer's citations, which readers can click to ask about."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pipeline.errors import UnknownDocument

if TYPE_CHECKING:
    from pipeline.answer import Citation
    from pipeline.stores.base import DocumentStore


def next_topics(
    citations: Sequence[Citation], store: DocumentStore, *, without: Collection[str] = (), limit: int = 3
) -> list[str]:
    """Return up to `limit` topics below or near the cited sections; not these themselves, nor `without`."""
    known = {topic.casefold() for topic in (*without, *(_topic(item.heading_path) for item in citations))}
    topics = (_topic(path) for citation in citations for path in _paths_near(citation, store))
    return list(islice(dict.fromkeys(topic for topic in topics if topic.casefold() not in known), limit))


def _topic(path: Sequence[str]) -> str:
    """Return the last heading after its parent: `Cabin fan: Cleaning the filter`."""
    return ": ".join(path[-2:])


def _paths_near(citation: Citation, store: DocumentStore) -> list[tuple[str, ...]]:
    """Return the cited document's heading paths: below the cited section, its siblings, then all others."""
    try:
        found = store.document(citation.source).sections
    except UnknownDocument:  # the document was deleted after it was cited
        return []
    paths, cited = [tuple(one.metadata["heading_path"]) for one in found], tuple(citation.heading_path)
    return sorted(paths, key=lambda path: (path[: len(cited)] != cited, path[:-1] != cited[:-1]))
