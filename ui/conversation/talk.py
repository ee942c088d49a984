"""One conversation as it is shown: its turns, the one being written, and the evidence beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from pipeline.answer import Answer
from pipeline.errors import UnknownConversation
from ui import pages
from ui.conversation.evidence import cited, evidence_view, step
from ui.conversation.runner import Run
from ui.conversation.turns import View, failed_view, running_view, stored_view
from ui.shared import components, state
from ui.shared.state import OpenEvidence

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation, Turn

DRAIN_EVERY = 0.2  # seconds between two looks at a running answer
SHOWN = "evidence_answer"


def turns(conversation: Conversation, run: Run | None, *, working: bool) -> None:
    """Finished turns, then the last one in a fragment that looks again while it is being written.

    `working` is what the rest of the page was drawn for; the fragment draws it anew once that changes.
    """
    stored = conversation.turns
    if run is not None and (working or not _is_stored(run, stored)):
        # The engine keeps a turn from early on, in case of a kill; until it is done, the run shows it.
        finished = tuple(turn for turn in stored if turn.created_at < run.started)
    else:
        finished = stored[:-1]
    for position, turn in enumerate(finished):
        _show(_view_of(turn), of=conversation.info.id, position=position)
    every = DRAIN_EVERY if working else None
    st.fragment(_last_turn, run_every=every)(conversation.info.id, len(finished), working)


def _is_stored(run: Run, turns: tuple[Turn, ...]) -> bool:
    snapshot = run.snapshot()
    if not turns:
        return False
    if snapshot.answer is not None:
        return any(turn.id == snapshot.answer.turn_id for turn in turns)
    return turns[-1].question == run.question and turns[-1].created_at >= run.started


def _last_turn(conversation_id: str, position: int, working: bool) -> None:
    try:
        _draw_last_turn(conversation_id, position, working=working)
    except UnknownConversation:  # deleted in another window: the page says so, and how to go on
        st.rerun()


def _draw_last_turn(conversation_id: str, position: int, *, working: bool) -> None:
    """The last turn and the pane: they change together, and without running the whole page."""
    run = state.runner().of(conversation_id)
    if working and not (run and run.working):
        st.rerun()  # the answer is stored now; the sidebar and the question change with it
    _show(_last_view(conversation_id, run, position, working=working), of=conversation_id, position=position)
    with st.container(key="evidence"):
        _pane(conversation_id, working=working)


def _last_view(conversation_id: str, run: Run | None, position: int, *, working: bool) -> View:
    turns = () if working else state.athena().conversations.get(conversation_id).turns
    snapshot = run.snapshot() if run else None
    if len(turns) <= position and snapshot is not None:
        return running_view(snapshot)
    view = _view_of(turns[-1])
    failed = snapshot is not None and snapshot.failure is not None and view["failure"]
    return failed_view(view, snapshot.failure) if failed and snapshot and snapshot.failure else view


def _view_of(turn: Turn) -> View:
    return stored_view(turn.answer, turn_id=turn.id, feedback=turn.feedback, word=turn.feedback_text) | {
        "rated": True
    }


def _show(view: View, *, of: str, position: int) -> None:
    opened = state.evidence()
    key = f"turn-{of}-{position}"
    here = opened is not None and opened.turn_id == view["turn"] and opened.kind == "citation"
    components.turn(
        key=key,
        data=view | {"open": opened.marker if here and opened else None, "rated": view.get("rated", False)},
        on_open_change=lambda: _open(key),
        on_stop_change=lambda: _stop(of),
        on_inspect_change=lambda: _inspect(key),
        on_feedback_change=lambda: _rate(key),
    )
    if st.session_state.pop(f"{key}-inspect", False):
        st.switch_page(pages.inspector())


def _sent(key: str, name: str) -> dict[str, Any]:
    """What a component sent with a trigger."""
    result = st.session_state.get(key) or {}
    value = result.get(name)
    return dict(value) if value else {}


def _open(key: str) -> None:
    sent = _sent(key, "open")
    if sent:
        state.show_evidence(OpenEvidence(str(sent["turn"]), sent["kind"], int(sent["marker"])))


def _stop(conversation_id: str) -> None:
    run = state.runner().of(conversation_id)
    if run:
        run.stop.set()


def _inspect(key: str) -> None:
    sent = _sent(key, "inspect")
    if sent:
        st.session_state[state.INSPECTED] = str(sent["turn"])
        st.session_state[f"{key}-inspect"] = True


def _rate(key: str) -> None:
    sent = _sent(key, "feedback")
    if sent:
        value = int(sent["value"]) or None
        word = str(sent["word"])[:300] if value else ""
        try:
            state.athena().conversations.set_feedback(str(sent["turn"]), value, word)
        except UnknownConversation as error:  # deleted in another window
            st.toast(str(error))


def _pane(conversation_id: str, *, working: bool) -> None:
    opened = state.evidence()
    answer = _answer_of(conversation_id, opened.turn_id) if opened else None
    at = cited(answer, opened) if answer and opened else None
    if opened is None or answer is None or at is None:
        return
    view = evidence_view(at, opened, sections=state.athena().store.sections) | {"working": working}
    components.pane(
        key="pane",
        data=view,
        on_close_change=lambda: state.show_evidence(None),
        on_step_change=lambda: _step(answer, opened),
        on_whole_change=lambda: _whole(opened),
    )


def _answer_of(conversation_id: str, turn_id: str) -> Answer | None:
    """The answer that the pane is open on, read once: the pane is drawn as often as a running answer."""
    kept = st.session_state.get(SHOWN)
    if kept and kept[0] == (conversation_id, turn_id):
        return cast("Answer | None", kept[1])
    turns = state.athena().conversations.get(conversation_id).turns
    answer = next((turn.answer for turn in turns if turn.id == turn_id), None)
    st.session_state[SHOWN] = ((conversation_id, turn_id), answer)
    return answer


def _step(answer: Answer, opened: OpenEvidence) -> None:
    sent = _sent("pane", "step")
    if sent:
        state.show_evidence(step(answer, opened, by=int(sent["by"])))


def _whole(opened: OpenEvidence) -> None:
    sent = _sent("pane", "whole")
    if sent:
        state.show_evidence(OpenEvidence(opened.turn_id, opened.kind, opened.marker, bool(sent["whole"])))
