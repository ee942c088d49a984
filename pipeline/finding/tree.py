"""A document's sections as a tree, by their heading paths; and the passage that stands for a branch of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pipeline.answer import Passage
from pipeline.errors import UnknownDocument
from pipeline.nodes import StoredNode
from pipeline.stores.base import SectionStore, StoredDocument

Path = tuple[str, ...]

HEADING_LINE = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)


def heading_path(passage: Passage) -> Path:
    """The headings that a passage stands under, from the document's title on."""
    return tuple(passage.section.metadata["heading_path"])


@dataclass(frozen=True)
class Branch:
    """A heading with all that is under it: adjacent sections of a document, from `first` to before `end`."""

    document: StoredDocument
    path: Path
    first: int
    end: int

    @property
    def sections(self) -> Sequence[StoredNode]:
        """Its sections in the document's order."""
        return self.document.sections[self.first : self.end]

    @property
    def section_ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(section.node_id for section in self.sections)

    @cached_property
    def span(self) -> tuple[int, int]:
        """Offsets in the file: from its text, or the heading of its first child, to its end."""
        sections = self.sections
        start, end = sections[0].start_char_idx or 0, sections[-1].end_char_idx or 0
        if _path(sections[0]) == self.path:
            return start, end
        before = self.document.sections[self.first - 1].end_char_idx or 0 if self.first else 0
        headings = [*HEADING_LINE.finditer(self.document.text, before, start)]
        return (headings[-1].start() if headings else start), end

    @property
    def text(self) -> str:
        """What the file has there, the headings in it included."""
        start, end = self.span
        return self.document.text[start:end]

    @cached_property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())

    @property
    def children(self) -> list[frozenset[str]]:
        """The ids below each heading directly under its own; its text without such a heading is one, too."""
        groups: list[tuple[Path, set[str]]] = []
        for section in self.sections:
            path = _path(section)[: len(self.path) + 1]
            if not groups or groups[-1][0] != path:
                groups.append((path, set()))
            groups[-1][1].add(section.node_id)
        return [frozenset(ids) for _, ids in groups]

    def node(self, node_id: str) -> StoredNode:
        """The branch as one section, under the id of one of its own."""
        start, end = self.span
        first, last = self.sections[0], self.sections[-1]
        metadata = {
            **first.metadata,
            "heading_path": list(self.path),
            "level": max(0, first.metadata.get("level", 0) - len(_path(first)) + len(self.path)),
            "start_line": first.metadata["start_line"]
            - self.document.text.count("\n", start, first.start_char_idx),
            "end_line": last.metadata["end_line"],
        }
        return StoredNode(
            node_id,
            self.text,
            metadata,
            start,
            end,
            first.document_id,
            sentence_ids=tuple(leaf for section in self.sections for leaf in section.sentence_ids),
        )


@dataclass(frozen=True)
class DocumentTree:
    """One document's sections, and the branches that they form."""

    document: StoredDocument

    @cached_property
    def _paths(self) -> list[Path]:
        return [_path(section) for section in self.document.sections]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {section.node_id: place for place, section in enumerate(self.document.sections)}

    def has(self, passage: Passage) -> bool:
        """Whether the document still says what the passage says."""
        section = passage.section
        return self.document.text[section.start_char_idx : section.end_char_idx] == section.text

    def branch(self, section_id: str, path: Path) -> Branch | None:
        """The branch of the heading `path` that a section is in; None where the document has changed since.

        Two headings of one name make two branches.
        """
        place = self._place.get(section_id)
        if place is None or self._paths[place][: len(path)] != path:
            return None
        first, end = place, place + 1
        while first and self._paths[first] != path and self._paths[first - 1][: len(path)] == path:
            first -= 1
        while end < len(self._paths) and self._paths[end][: len(path)] == path != self._paths[end]:
            end += 1
        return Branch(self.document, path, first, end)

    def heading(self, name: Callable[[str], str], wanted: str) -> tuple[Path, str]:
        """The first heading whose last part is called `wanted`, with the first section under it.

        Headings without text of their own count, too. "" means the document; `()` and "" where there is none.
        """
        if not wanted and self.document.sections:
            return (), self.document.sections[0].node_id
        for path, section in zip(self._paths, self.document.sections, strict=True):
            for depth, part in enumerate(path, start=1):
                if name(part) == wanted:
                    return path[:depth], section.node_id
        return (), ""


class Trees:
    """The trees of one search's documents, each read once."""

    def __init__(self, sections: SectionStore) -> None:
        self._sections = sections
        self._trees: dict[str, DocumentTree | None] = {}

    def get(self, source: str) -> DocumentTree | None:
        """The tree of a document; None where there is no such document, or none any more."""
        if source not in self._trees:
            try:
                self._trees[source] = DocumentTree(self._sections.document(source))
            except UnknownDocument:
                self._trees[source] = None
        return self._trees[source]

    def branch_of(self, passage: Passage, path: Path) -> Branch | None:
        """The branch of the heading `path` that a passage is in; None where the document has changed."""
        tree = self.get(passage.section.metadata["source"])
        if tree is None or not tree.has(passage):
            return None
        return tree.branch(passage.section_ids[0], path)


def standing_for(branch: Branch, passages: Sequence[Passage]) -> Passage:
    """The branch in the place of the first of these passages of it, which keeps its id and its scores."""
    best = passages[0]
    hits = {hit.node.node_id: hit for passage in passages for hit in passage.sentences}
    scores = {
        section_id: passage.score_of(section_id) for passage in passages for section_id in passage.section_ids
    }
    sentences = sorted(hits.values(), key=lambda hit: (-hit.score, hit.node.start_char_idx or 0))
    return replace(
        best,
        section=branch.node(best.section.node_id),
        sentences=tuple(sentences),
        merged=True,
        members=branch.section_ids,
        member_scores=tuple(scores.get(section_id, 0.0) for section_id in branch.section_ids),
    )


def _path(section: StoredNode) -> Path:
    return tuple(section.metadata["heading_path"])
