"""Evidence made of sentences, for the tests of checking."""

from __future__ import annotations

from pipeline.answering.sentence_support import Evidence
from pipeline.nodes import StoredNode
from tests.fakes import FakeEncoder

ENCODER = FakeEncoder()


def evidence(*passages: list[str], headings: tuple[str, ...] = (), header: str = "") -> Evidence:
    """Numbered passages, each with its sentences."""
    leaves = [
        (number, StoredNode(f"{number}/{position}", text, _metadata(headings, header), None, None, "d"))
        for number, texts in enumerate(passages, start=1)
        for position, text in enumerate(texts)
    ]
    return Evidence(leaves, {leaf.node_id: ENCODER.encode_query(leaf.text) for _, leaf in leaves})


def _metadata(headings: tuple[str, ...], header: str) -> dict[str, object]:
    return {"source": "ship.md", "heading_path": headings} | ({"header": header} if header else {})
