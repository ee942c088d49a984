"""One conversation as it is shown: its turns, the one being written, and the evidence beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.answering.replies import without_model_note
from pipeline.answering.written_answers import can_go_on
from pipeline.asking.suggestions import follow_ups
from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import Turn, title_of
from pipeline.words import well_formed
from ui.conversation import whose
from ui.conversation.asking import LONGEST_QUESTION
from ui.conversation.evidence import evidence_pane
from ui.conversation.forgetting import ask_to_forget
from ui.conversation.model_picker import answering_model
from ui.conversation.runner import Run, runner
from ui.conversation.turns import failed_view, running_view, stored_view
from ui.conversation.units import View
from ui.shared import components, links, messages, process
from ui.shared.corpus import documents_are
from ui.shared.state import ANSWER, OpenEvidence, sent, shared

if TYPE_CHECKING:
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversation
    from ui.conversation.asking import OnAsk

OnGoOn = Callable[[str, str], None]  # called with the question and the turn's id
DRAIN_EVERY = 0.2  # seconds between two looks at a running answer


@dataclass(frozen=True, slots=True)
class Place:
    """Where turns are drawn: their conversation, and how another question is asked in it."""

    conversation_id: str
    on_ask: OnAsk
    on_branch: Callable[[str], None]
    noted: bool  # it is said elsewhere on the page that no model is connected
    working: bool  # an answer is being written: nothing else can be asked
    on_go_on: OnGoOn | None = None  # writes on an answer that broke off


def turns(
    conversation: Conversation,
    run: Run | None,
    *,
    working: bool,
    on_ask: OnAsk,
    on_branch: Callable[[str], None],
    on_go_on: OnGoOn | None = None,
    noted: bool = False,
) -> None:
    """Draw the finished turns, then the last one in a fragment that looks again while it is written.

    `on_ask` asks what a turn offers to ask; `on_branch` opens the conversation in which an edited question
    is asked. That no model is connected is said at the first answer, or at none if `noted` elsewhere.
    `working` is what the rest of the page was drawn for; once it changes, the fragment runs the whole page.
    """
    stored = _noted_once(conversation.turns, noted=noted)
    if run is not None and (working or not _is_stored(run, stored)):
        # The engine stores a turn early, in case of a kill; until it is done, the run shows it.
        finished = tuple(turn for turn in stored if turn.created_at < run.started and turn.id != run.goes_on)
    else:
        finished = stored[:-1]
    place = Place(conversation.info.id, on_ask, on_branch, noted, working=working, on_go_on=on_go_on)
    for position, turn in enumerate(finished):
        _show(_view_of(turn, conversation.info.user), place, position)
    every = DRAIN_EVERY if working else None
    st.fragment(_last_turn, run_every=every)(place, len(finished))
    components.follow(key="follow", data={"turn": _key(place, _looked_at(len(finished), working=working))})


def _looked_at(last: int, *, working: bool) -> int:
    """The position of the turn that stands at the top: the last one, or the one that the address names."""
    named = st.query_params.get(ANSWER, "")
    return int(named) - 1 if named.isdecimal() and 0 < int(named) <= last and not working else last


def _noted_once(turns: tuple[Turn, ...], *, noted: bool) -> tuple[Turn, ...]:
    """The turns with the note that no model is connected at the first of them that has it, or at none."""
    shown = []
    for turn in turns:
        once = without_model_note(turn.answer.notices)
        shown.append(replace(turn, answer=replace(turn.answer, notices=once)) if noted else turn)
        noted = noted or once != turn.answer.notices
    return tuple(shown)


def _is_stored(run: Run, turns: tuple[Turn, ...]) -> bool:
    if not turns:
        return False
    answer = run.snapshot().answer
    if answer is not None:
        return any(turn.id == answer.turn_id for turn in turns)
    if run.goes_on:  # and did not come to it: the turn is as it was
        return any(turn.id == run.goes_on for turn in turns)
    return turns[-1].question == run.question and turns[-1].created_at >= run.started


@messages.shown
def _last_turn(place: Place, position: int) -> None:
    try:
        _draw_last_turn(place, position)
    except UnknownConversation:  # deleted in another window: the page says so, and what to do
        st.rerun()


def _draw_last_turn(place: Place, position: int) -> None:
    """The last turn and the pane: they change together, and without running the whole page."""
    run = runner().of(place.conversation_id)
    if messages.pending():
        st.rerun()  # what a callback found wrong stands at the top
    if place.working and not (run and run.working):
        st.rerun()  # the answer is stored now; the sidebar and the question change with it
    _show(_last_view(place, run, position), place, position)
    with st.container(key="evidence"):
        evidence_pane(place.conversation_id, working=place.working)


def _last_view(place: Place, run: Run | None, position: int) -> View:
    conversation = None if place.working else whose.store_of(place.conversation_id).get(place.conversation_id)
    turns = _noted_once(conversation.turns, noted=place.noted) if conversation else ()
    snapshot = run.snapshot() if run else None
    unstored = snapshot is not None and snapshot.answer is not None and not snapshot.answer.turn_id
    if snapshot is None and len(turns) <= position:
        st.rerun()  # a run that stored nothing, and ended so long ago that it is not kept
    if conversation is None or unstored or (len(turns) <= position and snapshot is not None):
        assert snapshot is not None  # noqa: S101  (who works has a run)
        if snapshot.answer and not snapshot.working:
            return _unstored_view(snapshot.answer)
        return running_view(snapshot)
    view = _view_of(turns[-1], conversation.info.user) | {
        "follow_ups": _follow_ups(turns[-1]),
        "can_go_on": bool(place.on_go_on and can_go_on(turns[-1].answer) and answering_model()),
    }
    failure = snapshot.failure if snapshot else None
    return failed_view(view, failure) if failure and view["failure"] else view


def _follow_ups(turn: Turn) -> list[str]:
    """What can be asked next; nothing where an answer broke off, or is beside the point."""
    answer = turn.answer
    if answer.status != "complete" or answer.verdict != "answered":
        return []
    folded = {unit.marker for unit in answer.units if unit.folded}
    shown = [citation for citation in answer.citations if citation.marker not in folded]
    return follow_ups(shown, process.athena().store.sections)


def _view_of(turn: Turn, user: str) -> View:
    """A stored turn, with what the memories say now that it names."""
    answer, recalled = process.athena().with_memories(turn.answer, user=user)
    return stored_view(
        answer, turn_id=turn.id, feedback=turn.feedback, word=turn.feedback_text, recalled=recalled,
        documents=documents_are() if answer.abstained else "documents",
    )  # fmt: skip


def _unstored_view(answer: Answer) -> View:
    """An answer that could not be stored, which is all there is of its turn."""
    return _view_of(Turn(answer.turn_id, answer.question, answer, 0.0), whose.user())


def _show(view: View, place: Place, position: int) -> None:
    key = _key(place, position)
    clicked = components.turn(
        key=key,
        data=view
        | _opened_in(view, shared().evidence)
        | {"busy": place.working, "link": _link(place.conversation_id, position)},
        on_open_change=lambda: _open(key),
        on_stop_change=lambda: _stop(place.conversation_id),
        on_ask_change=lambda: _ask(key, place.on_ask),
        on_edit_change=lambda: _edit(key, place, position),
        on_go_on_change=lambda: _go_on(key, place),
        on_inspect_change=lambda: None,
        on_feedback_change=lambda: _rate(key, place.conversation_id),
        on_forget_change=lambda: _forget(key),
    )
    if clicked.forget:
        st.rerun()  # the whole page: it asks before it forgets
    if clicked.ask or clicked.edit or clicked.go_on:
        st.rerun()  # the whole page: an answer is being written
    if clicked.inspect:
        shared().inspected = str(clicked.inspect["turn"])
        links.go("inspector")


def _opened_in(view: View, opened: OpenEvidence | None) -> View:
    """What of a turn the evidence pane shows."""
    if opened is None or opened.turn_id != view["turn"]:
        return {"open": None, "opened": None}
    return {
        "open": opened.marker if opened.kind == "citation" else None,
        "opened": {"kind": opened.kind, "marker": opened.marker},
    }


def _key(place: Place, position: int) -> str:
    return f"turn-{place.conversation_id}-{position}"


def _open(key: str) -> None:
    if chosen := sent(key, "open"):
        shared().evidence = OpenEvidence(str(chosen["turn"]), chosen["kind"], int(chosen["marker"]))


@messages.noticed
def _ask(key: str, on_ask: OnAsk) -> None:
    if wanted := sent(key, "ask"):
        on_ask(well_formed(str(wanted["question"])), verbatim=bool(wanted.get("verbatim")))


@messages.noticed
def _edit(key: str, place: Place, position: int) -> None:
    """Ask another question in the place of a turn's, in a conversation that branches off before it."""
    if wanted := sent(key, "edit"):
        question = well_formed(str(wanted["question"])).strip()[:LONGEST_QUESTION]
        place.on_branch(whose.branch(place.conversation_id, before=position, title=title_of(question)))
        place.on_ask(question)


@messages.noticed
def _go_on(key: str, place: Place) -> None:
    if place.on_go_on and (wanted := sent(key, "go_on")):
        place.on_go_on(str(wanted["question"]), str(wanted["turn"]))


def _link(conversation_id: str, position: int) -> dict[str, str] | None:
    """What an address of an answer has; a private conversation has none that lasts."""
    if whose.is_kept_here(conversation_id):
        return None
    return {"c": conversation_id, ANSWER: str(position + 1)}


def _forget(key: str) -> None:
    if wanted := sent(key, "forget"):
        ask_to_forget([str(wanted["memory"])])


def _stop(conversation_id: str) -> None:
    run = runner().of(conversation_id)
    if run:
        run.stop.set()


@messages.noticed
def _rate(key: str, conversation_id: str) -> None:
    if given := sent(key, "feedback"):
        value = int(given["value"]) or None
        word = str(given["word"])[:300] if value else ""
        private = whose.is_kept_here(conversation_id)
        process.athena().rate(str(given["turn"]), value, word, private=private)
