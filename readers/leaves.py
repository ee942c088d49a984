"""The sentences of a section from spans of its text: ids, offsets in the file, metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from readers.blocks import Kind, Lines
from readers.ids import sentence_id
from readers.levels import Section, Sentence

INHERITED = ("source", "title", "heading_path")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf to be: `text[start:end]` of the section's own text."""

    kind: Kind
    start: int
    end: int
    header: str | None = None


def build_sentences(section: Section, leaves: Sequence[Leaf]) -> list[Sentence]:
    """A sentence per leaf, in order."""
    build = _SentenceBuilder(section, siblings=len(leaves))
    return [build(leaf, position) for position, leaf in enumerate(leaves)]


class _SentenceBuilder:
    """Builds the sentences of one section."""

    def __init__(self, section: Section, *, siblings: int) -> None:
        self._section = section
        self._siblings = siblings
        self._lines = section.lines or _lines_of(section)
        self._start = section.start_char_idx if section.lines else 0
        self._inherited = {key: section.metadata[key] for key in INHERITED if key in section.metadata}

    def __call__(self, leaf: Leaf, position: int) -> Sentence:
        """The sentence of `leaf`."""
        section = self._section
        return Sentence(
            node_id=sentence_id(section.node_id, position),
            text=section.text[leaf.start : leaf.end],
            metadata=self._metadata(leaf, position),
            start_char_idx=section.start_char_idx + leaf.start,
            end_char_idx=section.start_char_idx + leaf.end,
            parent_node=section,
        )

    def _metadata(self, leaf: Leaf, position: int) -> dict[str, Any]:
        metadata = {
            key: list(value) if isinstance(value, list) else value for key, value in self._inherited.items()
        }
        metadata["position"] = position
        metadata["siblings"] = self._siblings
        metadata["kind"] = leaf.kind.value
        if leaf.header is not None:
            metadata["header"] = leaf.header
        metadata["start_line"] = self._lines.number(self._start + leaf.start)
        metadata["end_line"] = self._lines.number(self._start + leaf.end - 1)
        page = self._lines.page(self._start + leaf.start) or self._section.metadata.get("page")
        if page is not None:
            metadata["page"] = page
        return metadata


def _lines_of(section: Section) -> Lines:
    """The lines of a section's own text, numbered from its first."""
    first = int(section.metadata.get("start_line", 1))
    return Lines(section.text, range(first, first + len(section.text) + 1))
