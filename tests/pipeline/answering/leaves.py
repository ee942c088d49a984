"""A section of Markdown with its leaves, as the readers cut it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answering.section_blocks import SectionLeaves
from pipeline.nodes import Node
from readers.cutting import SentenceCutter
from readers.sections import read_sections

_SECTIONS: dict[str, Node] = {}


def section_leaves(markdown: str) -> SectionLeaves:
    """The first section of a file that begins with a heading."""
    section = read_sections(f"# Title\n\n{markdown}\n", source="file.md")[0]
    _SECTIONS[section.node_id] = section
    cutter = SentenceCutter(lambda text: len(text.split()), max_tokens=60)
    return SectionLeaves.of(cutter.cut(section), text=section.text, offset=section.start_char_idx)


def section_node(leaves: Sequence[Node]) -> Node:
    """The section that leaves of `section_leaves` are from."""
    return _SECTIONS[leaves[0].section_id]


def text_of(section: SectionLeaves, first: int, last: int) -> str:
    """What is quoted of these leaves."""
    start, end = section.span(first, last)
    return section.text[start - section.offset : end - section.offset]
