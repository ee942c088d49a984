"""The evidence pane beside a conversation: a citation's section as it is now, the cited sentence marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from pipeline.answer import Answer, Citation
from pipeline.answering.citations import Provenance, provenance
from pipeline.errors import UnknownDocument
from ui.shared import components, messages, process
from ui.shared.markdown import Span, converted_from, crumbs, file_html, icon, tag
from ui.shared.state import OpenEvidence, sent, shared

if TYPE_CHECKING:
    from pipeline.stores.base import SectionStore, StoredDocument
    from pipeline.stores.turns import Turn

View = dict[str, Any]

PANE = "pane"
ICONS = {"same": "check_circle", "moved": "move_down", "changed": "edit_note", "gone": "delete"}


@dataclass(frozen=True, slots=True)
class CitationWalk:
    """The citations that the arrows step through, and the one that the pane shows."""

    citations: tuple[Citation, ...]
    index: int
    answering: tuple[int, int] | None = None  # offsets in the file, when it was cited, of what answers

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
    if index is None:
        return None
    return CitationWalk(found, index, _answering(answer, found[index]) if opened.kind == "citation" else None)


def _answering(answer: Answer, citation: Citation) -> tuple[int, int] | None:
    """The sentence, row or step that answers, within a citation that has more."""
    unit = next((unit for unit in answer.units if unit.marker == citation.marker), None)
    if answer.verdict != "answered" or unit is None or unit.answer_start is None or unit.answer_end is None:
        return None
    start, end = max(unit.answer_start, citation.start), min(unit.answer_end, citation.end)
    return (start, end) if start < end and (start, end) != (citation.start, citation.end) else None


def step(answer: Answer, opened: OpenEvidence, *, position: int) -> OpenEvidence:
    """The citation at a position, from 1 on; what was open where the answer has none there."""
    at = walk(answer, opened)
    if at is None or not 1 <= position <= len(at.citations):
        return opened
    index = position - 1
    marker = index if opened.kind == "nearest" else at.citations[index].marker
    return replace(opened, marker=marker, whole=False)


def evidence_view(at: CitationWalk, opened: OpenEvidence, *, sections: SectionStore) -> View:
    """Return what the pane shows for one citation."""
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
        "place": crumbs([citation.file, *citation.heading_path]) + status,
        "html": _content(at, fate, title=title, now=now),
        "whole": opened.whole,
        "can_open": document is not None,
        "lines": _lines(citation, fate),
    }


def _content(at: CitationWalk, fate: Provenance, *, title: str, now: str) -> str:
    """Return the section as it is now, below the passage as it was where that is not there any more."""
    today = tag("h2", escape(title), class_="title") + now
    if fate.status not in ("changed", "gone"):
        return today
    citation, start = at.current, at.current.section_start
    spans = [Span(mark.start - start, mark.end - start, mark.kind) for mark in _marks(at)]
    then = file_html(citation.section_text, source=citation.source, spans=spans)
    label = tag("p", "When this was answered", class_="label")
    below = tag("p", "The section today", class_="label") + today if now else ""
    return label + tag("div", then, class_="then") + below


def marks_of(at: CitationWalk, fate: Provenance) -> list[Span]:
    """Where the cited passage stands today, with what answers in it where the words are as they were."""
    if fate.start is None or fate.end is None or fate.status == "gone":
        return []
    same = fate.end - fate.start == at.current.end - at.current.start
    if fate.status == "changed" or not same:
        return [Span(fate.start, fate.end, "mark")]
    return _marks(at, moved=fate.start - at.current.start)


def _marks(at: CitationWalk, *, moved: int = 0) -> list[Span]:
    """The cited passage as marks that do not overlap, the part that answers as one of its own."""
    start, end = at.current.start + moved, at.current.end + moved
    if at.answering is None:
        return [Span(start, end, "mark")]
    first, last = (offset + moved for offset in at.answering)
    cut = [Span(start, first, "mark"), Span(first, last, "answer"), Span(last, end, "mark")]
    return [span for span in cut if span.start < span.end]


def _today(document: StoredDocument, fate: Provenance, marks: Sequence[Span], *, whole: bool) -> str:
    source = document.info.source
    if whole:
        made_from = converted_from(source)
        origin = tag("p", f"{made_from}.", class_="origin") if made_from else ""
        return origin + file_html(document.text, source=source, spans=marks)
    if fate.start is None or fate.end is None:
        return ""
    start, end = _around(document, fate.start, fate.end)
    return file_html(document.text, source=source, spans=marks, start=start, end=end)


def _around(document: StoredDocument, start: int, end: int) -> tuple[int, int]:
    """Offsets of a passage with the whole of its sections; it may begin at a heading, which is in none."""
    touched = [
        section
        for section in document.sections
        if int(section.start_char_idx or 0) < max(end, start + 1) and start < int(section.end_char_idx or 0)
    ]
    first = min((int(section.start_char_idx or 0) for section in touched), default=start)
    last = max((int(section.end_char_idx or 0) for section in touched), default=end)
    return min(start, first), max(end, last)


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


# -- the pane ------------------------------------------------------------------------------------------


def evidence_pane(turns: Sequence[Turn], *, working: bool) -> None:
    """Draw the pane where it is open on a citation of one of these turns."""
    opened = shared().evidence
    answer = next((turn.answer for turn in turns if opened and turn.id == opened.turn_id), None)
    at = walk(answer, opened) if answer and opened else None
    if opened is None or answer is None or at is None:
        return
    components.pane(
        key=PANE,
        data=evidence_view(at, opened, sections=process.athena().store.sections) | {"working": working},
        on_close_change=_close,
        on_step_change=lambda: _step(answer, opened),
        on_whole_change=lambda: _whole(opened),
    )


def _close() -> None:
    shared().evidence = None


@messages.noticed
def _step(answer: Answer, opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "step"):
        shared().evidence = step(answer, opened, position=int(wanted["position"]))


def _whole(opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "whole"):
        shared().evidence = replace(opened, whole=bool(wanted["whole"]))
