"""A citation as data for the evidence pane: its section as it is now, the cited sentence marked in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.answer import Answer, Citation
from pipeline.answering.provenance import Provenance, provenance
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from ui.shared.markdown_tree import Span, Tree, markdown_tree
from ui.shared.state import OpenEvidence

if TYPE_CHECKING:
    from pipeline.stores.base import SectionStore, StoredDocument

View = dict[str, Any]

ICONS = {"same": "check_circle", "moved": "move_down", "changed": "edit_note", "gone": "delete"}


@dataclass(frozen=True, slots=True)
class CitationWalk:
    """The citations that the arrows step through, and the one that the pane shows."""

    citations: tuple[Citation, ...]
    index: int

    @property
    def current(self) -> Citation:
        """The one that the pane shows."""
        return self.citations[self.index]


def walk(answer: Answer, opened: OpenEvidence) -> CitationWalk | None:
    """The citations of an answer, at the opened one; None where the answer does not have it."""
    if opened.kind == "nearest":
        found = answer.nearest
        index = opened.marker if 0 <= opened.marker < len(found) else None
    else:
        found = tuple(sorted(answer.citations, key=lambda citation: citation.marker))
        index = next((i for i, citation in enumerate(found) if citation.marker == opened.marker), None)
    return None if index is None else CitationWalk(found, index)


def step(answer: Answer, opened: OpenEvidence, *, by: int) -> OpenEvidence:
    """The next or previous citation; after the last comes the first."""
    at = walk(answer, opened)
    if at is None:
        return opened
    index = (at.index + by) % len(at.citations)
    marker = index if opened.kind == "nearest" else at.citations[index].marker
    return replace(opened, marker=marker, whole=False)


def evidence_view(at: CitationWalk, opened: OpenEvidence, *, sections: SectionStore) -> View:
    """What the pane shows for one citation."""
    citation = at.current
    try:
        document = sections.document(citation.source)
    except UnknownDocument:
        document = None
    fate = provenance(citation, document.text if document else None)
    now = _today(document, fate, opened.whole) if document else []
    title = citation.heading_path[-1] if citation.heading_path else citation.source
    return {
        "label": f"Source {citation.marker}" if opened.kind == "citation" else "Nearest section",
        "position": at.index + 1,
        "count": len(at.citations),
        "crumbs": [citation.source, *citation.heading_path],
        "title": citation.source if opened.whole else title,
        "tree": now,
        "status": fate.status,
        "icon": ICONS[fate.status],
        "status_text": _status_text(fate, document),
        "then": _then(citation) if fate.status in ("changed", "gone") else [],
        "then_label": "When this was answered",
        "whole": opened.whole,
        "can_open": document is not None,
        "lines": _lines(citation, fate),
    }


def _today(document: StoredDocument, fate: Provenance, whole: bool) -> Tree:
    span = None if fate.start is None or fate.end is None else (fate.start, fate.end)
    marks = [Span(*span, "mark")] if span and fate.status != "gone" else []
    if whole:
        return markdown_tree(document.text, spans=marks)
    section = _section_at(document, span[0]) if span else None
    if section is None:
        return []
    start, end = int(section.start_char_idx or 0), int(section.end_char_idx or 0)
    return markdown_tree(document.text[start:end], spans=marks, base=start)


def _section_at(document: StoredDocument, offset: int) -> Node | None:
    """The section at an offset of the file, None outside all sections."""
    for section in document.sections:
        if int(section.start_char_idx or 0) <= offset < int(section.end_char_idx or 0):
            return section
    return None


def _then(citation: Citation) -> Tree:
    return markdown_tree(
        citation.section_text,
        spans=[Span(citation.start, citation.end, "mark")],
        base=citation.section_start,
    )


def _status_text(fate: Provenance, document: StoredDocument | None) -> str:
    match fate.status:
        case "same":
            return "The passage is as it was when this was answered."
        case "moved":
            where = (
                f" to line {_line(document.text, fate.start)}" if document and fate.start is not None else ""
            )
            return f"The same passage, moved{where} since this was answered."
        case "changed":
            return "The passage was changed since this was answered."
        case _:
            return (
                "The file is no longer indexed." if document is None else "The passage is gone from the file."
            )


def _lines(citation: Citation, fate: Provenance) -> str:
    if fate.status != "same":
        return ""
    if citation.start_line == citation.end_line:
        return f"Line {citation.start_line}"
    return f"Lines {citation.start_line}-{citation.end_line}"


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
