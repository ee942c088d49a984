"""Nodes: a section or a sentence with its place in the file; readers make them, stores return them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class Node(Protocol):
    """A section or a sentence; offsets count characters of the document's text."""

    @property
    def node_id(self) -> str:
        """Its id, a uuid5."""

    @property
    def text(self) -> str:
        """The document's text between the offsets."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """`source`, `heading_path`, `start_line`, …; of a sentence also `position`, `kind`, `header`."""

    @property
    def start_char_idx(self) -> int:
        """Offset of the first character."""

    @property
    def end_char_idx(self) -> int:
        """Offset after the last character."""

    @property
    def section_id(self) -> str:
        """The id of the section that a sentence belongs to; "" for a section."""


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A node as a store returns it, with the ids of its document, its section and its sentences."""

    node_id: str
    text: str
    metadata: Mapping[str, Any]
    start_char_idx: int
    end_char_idx: int
    document_id: str
    section_id: str = ""  # of a sentence
    sentence_ids: tuple[str, ...] = ()  # of a section, in order


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """A found node and its score, higher is better."""

    node: Node
    score: float
