"""The evidence pane as it is drawn beside a conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.answer import Answer
from ui.conversation import whose
from ui.conversation.evidence import evidence_view, step, walk
from ui.shared import components, messages, process
from ui.shared.state import OpenEvidence, kept, sent, shared

PANE = "pane"


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
        shared().evidence = step(answer, opened, by=int(wanted["by"]))


def _whole(opened: OpenEvidence) -> None:
    if wanted := sent(PANE, "whole"):
        shared().evidence = replace(opened, whole=bool(wanted["whole"]))
