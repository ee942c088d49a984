"""Passages made by hand, for the steps that work on passages alone."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answer import Passage
from pipeline.nodes import ScoredNode, StoredNode


def make_passage(
    section_id: str,
    *,
    score: float = 1.0,
    text: str = "",
    sentences: Sequence[tuple[int, str, float]] = (),
    merged: bool = False,
    heading_path: Sequence[str] = ("Manual", "Fan"),
) -> Passage:
    """A passage; `sentences` are (position, text, score), best first."""
    section = StoredNode(
        node_id=section_id,
        text=text or f"Text of {section_id}.",
        start_char_idx=0,
        end_char_idx=100,
        metadata={"source": "fan.md", "heading_path": list(heading_path), "start_line": 3, "end_line": 9},
        document_id="fan.md",
    )
    hits = tuple(
        ScoredNode(
            node=StoredNode(
                node_id=f"{section_id}/{position}",
                text=sentence,
                start_char_idx=position * 10,
                end_char_idx=position * 10 + len(sentence),
                metadata={**section.metadata, "position": position, "start_line": 4, "end_line": 4},
                document_id="fan.md",
                section_id=section_id,
            ),
            score=value,
        )
        for position, sentence, value in sentences
    )
    return Passage(section, hits, merged, score)


def ids(passages: Sequence[Passage]) -> list[str]:
    """The sections' ids, in order."""
    return [passage.section.node_id for passage in passages]
