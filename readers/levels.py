"""What reading a file makes: sections, and the sentences in them.

Their attributes have the names of LlamaIndex's `TextNode`, without its weight: importing it takes longer than
reading a book. `readers/llamaindex/nodes.py` makes LlamaIndex's nodes of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from readers.blocks import Block, Lines


@dataclass(frozen=True, slots=True)
class Section:
    """The text under one heading; offsets count characters of the file after a byte order mark.

    `blocks` are those of its text, with offsets in the file; None where nobody has parsed it yet. `lines` are
    the file's; None where they are counted from the section's first.
    """

    node_id: str
    text: str
    metadata: Mapping[str, Any]
    start_char_idx: int
    end_char_idx: int
    document_id: str
    blocks: tuple[Block, ...] | None = None
    lines: Lines | None = field(default=None, compare=False, repr=False)

    @property
    def parent_node(self) -> None:
        """None: a section is a root."""
        return None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A leaf of a section: a sentence, a list item, a table row, code; offsets as its section's."""

    node_id: str
    text: str
    metadata: Mapping[str, Any]
    start_char_idx: int
    end_char_idx: int
    parent_node: Section
