"""The evidence pane beside a conversation: a citation's section as it is now, the cited sentence marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.answer import Answer, Citation
from pipeline.answering.citations import Provenance, provenance
from pipeline.errors import UnknownDocument
from ui.conversation import whose
from ui.shared import components, messages, process
from ui.shared.markdown_tree import Span, Tree, converted_from, document_tree, markdown_tree
from ui.shared.state import OpenEvidence, kept, sent, shared

if TYPE_CHECKING:
    from pipeline.stores.base import SectionStore, StoredDocument

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
    """What the pane shows for one citation."""
    citation = at.current
    try:
        document = sections.document(citation.source)
    except UnknownDocument:
        document = None
    fate = provenance(citation, document.text if document else None)
    now = _today(document, fate, marks_of(at, fate), whole=opened.whole) if document else []
    title = citation.heading_path[-1] if citation.heading_path else citation.source
    return {
        "label": f"Source {citation.marker}" if opened.kind == "citation" else "Nearest section",
        "position": at.index + 1,
        "count": len(at.citations),
        "crumbs": [citation.file, *citation.heading_path],
        "title": citation.source if opened.whole else title,
        "tree": now,
        "status": fate.status,
        "icon": ICONS[fate.status],
        "status_text": _status_text(fate, document),
        "then": _then(at) if fate.status in ("changed", "gone") else [],
        "then_label": "When this was answered",
        "whole": opened.whole,
        "can_open": document is not None,
        "lines": _lines(citation, fate),
    }


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


def _today(document: StoredDocument, fate: Provenance, marks: Sequence[Span], *, whole: bool) -> Tree:
    if whole:
        made_from = converted_from(document.info.source)
        said: Tree = [{"t": "p", "k": "origin", "c": [f"{made_from}."]}] if made_from else []
        return [*said, *document_tree(document.text, source=document.info.source, spans=marks)]
    if fate.start is None or fate.end is None:
        return []
    start, end = _around(document, fate.start, fate.end)
    return markdown_tree(document.text[start:end], spans=marks, base=start)


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


def _then(at: CitationWalk) -> Tree:
    return markdown_tree(at.current.section_text, spans=_marks(at), base=at.current.section_start)


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


@dataclass(slots=True)
class ShownAnswer:
    """The answer that the pane is open on, read once: the pane is drawn as often as a running answer."""

    conversation_id: str = ""
    turn_id: str = ""
    answer: Answer | None = None


def evidence_pane(conversation_id: str, *, working: bool) -> None:
    """Draw the pane where it is open on a citation of this conversation."""
    opened = shared().evidence
    answer = _answer_of(conversation_id, opened.turn_id) if opened else None
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


def _answer_of(conversation_id: str, turn_id: str) -> Answer | None:
    shown = kept(ShownAnswer)
    if (shown.conversation_id, shown.turn_id) != (conversation_id, turn_id):
        turns = whose.store_of(conversation_id).get(conversation_id).turns
        shown.answer = next((turn.answer for turn in turns if turn.id == turn_id), None)
        shown.conversation_id, shown.turn_id = conversation_id, turn_id
    return shown.answer


def _close() -> None:
    shared().evidence = None


@messages.noticed
def _step(answer: Answer, opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "step"):
        shared().evidence = step(answer, opened, position=int(wanted["position"]))


def _whole(opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "whole"):
        shared().evidence = replace(opened, whole=bool(wanted["whole"]))
