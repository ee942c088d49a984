"""The evidence pane: the section of a citation as it is now, with the cited passage marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from pipeline.answer import Answer, Citation
from pipeline.answering.citations import Provenance, provenance
from pipeline.errors import UnknownDocument
from ui.shared import components, process
from ui.shared.markdown import Span, crumbs, file_html, icon, tag
from ui.shared.state import OpenEvidence, sent, shared

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentStore, StoredDocument
    from pipeline.stores.turns import Turn

View = dict[str, Any]

PANE = "pane"
ICONS = {"same": "check_circle", "moved": "move_down", "gone": "delete"}


@dataclass(frozen=True, slots=True)
class CitationWalk:
    """The citations that the arrows step through, and the one that the pane shows."""

    citations: tuple[Citation, ...]
    index: int
    answering: tuple[int, int] | None = None  # the part that answers, as offsets in the file

    @property
    def current(self) -> Citation:
        """The citation that the pane shows."""
        return self.citations[self.index]


def walk(answer: Answer, opened: OpenEvidence) -> CitationWalk | None:
    """Return the citations of an answer, positioned at the opened one; None if it is missing."""
    if opened.kind == "nearest":
        return CitationWalk(answer.nearest, opened.marker) if opened.marker < len(answer.nearest) else None
    found = tuple(sorted(answer.citations, key=lambda citation: citation.marker))
    index = next((i for i, citation in enumerate(found) if citation.marker == opened.marker), None)
    return None if index is None else CitationWalk(found, index, _answering(answer, found[index]))


def _answering(answer: Answer, citation: Citation) -> tuple[int, int] | None:
    """Return the file offsets of the part of a citation that answers; None if no part or all of it does."""
    unit = next((unit for unit in answer.units if unit.marker == citation.marker), None)
    if answer.verdict != "answered" or unit is None or unit.answer_start is None or unit.answer_end is None:
        return None
    start, end = max(unit.answer_start, citation.start), min(unit.answer_end, citation.end)
    return (start, end) if start < end and (start, end) != (citation.start, citation.end) else None


def evidence_view(at: CitationWalk, opened: OpenEvidence, *, sections: DocumentStore) -> View:
    """Return the data of the pane's component for the current citation."""
    citation = at.current
    try:
        document = sections.document(citation.source)
    except UnknownDocument:
        document = None
    fate = provenance(citation, document.text if document else None)
    now = _today(document, fate, marks_of(at, fate), whole=opened.whole) if document else ""
    title = citation.heading_path[-1] if citation.heading_path and not opened.whole else citation.source
    status = tag("div", icon(ICONS[fate.status]), tag("span", escape(_status_text(fate, document))),
                 class_=f"status {fate.status}")  # fmt: skip
    return {
        "label": f"Source {citation.marker}" if opened.kind == "citation" else "Nearest section",
        "position": at.index + 1,
        "count": len(at.citations),
        "place": crumbs([citation.source, *citation.heading_path]) + status,
        "html": _content(at, fate, title=title, now=now),
        "whole": opened.whole,
        "can_open": document is not None,
        "lines": citation.lines.capitalize() if fate.status == "same" else "",
    }


def _content(at: CitationWalk, fate: Provenance, *, title: str, now: str) -> str:
    """Return the HTML of today's section; if the passage is gone, the section as it was cited comes first."""
    today = tag("h2", escape(title), class_="title") + now
    if fate.status != "gone":
        return today
    citation, start = at.current, at.current.section_start
    spans = [Span(mark.start - start, mark.end - start, mark.kind) for mark in _marks(at)]
    then = file_html(citation.section_text, source=citation.source, spans=spans)
    label = tag("p", "When this was answered", class_="label")
    below = tag("p", "The section today", class_="label") + today if now else ""
    return label + tag("div", then, class_="then") + below


def marks_of(at: CitationWalk, fate: Provenance) -> list[Span]:
    """Return the passage's marks in today's file; [] if it is gone, one plain mark if its length changed."""
    if fate.start is None or fate.end is None:
        return []
    if fate.end - fate.start != at.current.end - at.current.start:
        return [Span(fate.start, fate.end, "mark")]
    return _marks(at, moved=fate.start - at.current.start)


def _marks(at: CitationWalk, *, moved: int = 0) -> list[Span]:
    """Return the marks of the passage, moved by `moved`, without overlap; the answering part has its own."""
    start, end = at.current.start + moved, at.current.end + moved
    if at.answering is None:
        return [Span(start, end, "mark")]
    first, last = (offset + moved for offset in at.answering)
    cut = [Span(start, first, "mark"), Span(first, last, "answer"), Span(last, end, "mark")]
    return [span for span in cut if span.start < span.end]


def _today(document: StoredDocument, fate: Provenance, marks: Sequence[Span], *, whole: bool) -> str:
    source = document.info.source
    if whole:
        return file_html(document.text, source=source, spans=marks)
    if fate.start is None or fate.end is None:
        return ""
    start, end = _around(document, fate.start, fate.end)
    return file_html(document.text, source=source, spans=marks, start=start, end=end)


def _around(document: StoredDocument, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the passage with all sections it touches; a heading it starts with is in none."""
    bounds = [(one.start_char_idx, one.end_char_idx) for one in document.sections]
    touched = [(first, last) for first, last in bounds if first < max(end, start + 1) and start < last]
    return min([start, *(first for first, _ in touched)]), max([end, *(last for _, last in touched)])


def _status_text(fate: Provenance, document: StoredDocument | None) -> str:
    match fate.status:
        case "same":
            return "The passage is as it was when this was answered."
        case "moved":
            return "The passage has moved within its file since this was answered."
        case _ if document is None:
            return "The file is no longer indexed."
        case _:
            return "The passage was changed or deleted since this was answered."


# -- the pane ------------------------------------------------------------------------------------------


def evidence_pane(turns: Sequence[Turn], *, working: bool) -> None:
    """Draw the pane if it is open on a citation of one of these turns."""
    opened = shared().evidence
    answer = next((turn.answer for turn in turns if opened and turn.id == opened.turn_id), None)
    at = walk(answer, opened) if answer and opened else None
    if opened is None or answer is None or at is None:
        return
    components.pane(
        key=PANE,
        data=evidence_view(at, opened, sections=process.athena().store) | {"working": working},
        on_close_change=_close,
        on_step_change=partial(_step, at, opened),
        on_whole_change=partial(_whole, opened),
    )


def _close() -> None:
    shared().evidence = None


def _step(at: CitationWalk, opened: OpenEvidence) -> None:
    """Show the citation at the position that was sent, counting from 1."""
    position = int(sent(PANE, "step").get("position", 0))
    if 1 <= position <= len(at.citations):
        index = position - 1
        marker = index if opened.kind == "nearest" else at.citations[index].marker
        shared().evidence = replace(opened, marker=marker, whole=False)


def _whole(opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "whole"):
        shared().evidence = replace(opened, whole=bool(wanted["whole"]))
