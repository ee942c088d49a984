"""One conversation as it is shown: its turns, the one being written, and the evidence beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.answering.replies import without_model_note
from pipeline.asking.questions import check_length
from pipeline.asking.suggestions import next_topics
from pipeline.errors import UnknownConversation
from pipeline.steps.records import data_of
from pipeline.stores.conversations import Turn
from pipeline.words import well_formed
from ui.conversation import whose
from ui.conversation.agents import answer_consent, consent_view
from ui.conversation.evidence import evidence_pane
from ui.conversation.forgetting import ask_to_forget, user_memory
from ui.conversation.runner import Run, runner
from ui.conversation.source import ask_for_source
from ui.conversation.turns import changed_view, failed_view, running_view, stored_view
from ui.conversation.units import View
from ui.shared import components, links, messages, process
from ui.shared.corpus import documents_are
from ui.shared.state import ANSWER, OpenEvidence, sent, shared

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversation
    from ui.conversation.asking import OnAsk

LONGEST_COMMAND = 200  # characters
DRAIN_EVERY = 0.2  # seconds between two looks at a running answer
LOOK_AGAIN_EVERY = 1.0  # where something is still to be kept of it
OFFERED_BEFORE = 4  # turns whose suggestions are not made again
PENDING_S = 60.0  # after which nobody waits for that


@dataclass(frozen=True, slots=True)
class Commands:
    """A console beside the answers: how its commands begin, and what takes one that is clicked in an answer.

    `put` gets the command and a number that grows with each click.
    """

    names: tuple[str, ...]
    put: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where turns are drawn: their conversation, and how another question is asked in it."""

    conversation_id: str
    on_ask: OnAsk
    noted: bool  # it is said elsewhere on the page that no model is connected
    working: bool  # an answer is being written: nothing else can be asked
    run: Run | None = None  # that is, or was, written last
    pending: bool = False  # something is still to be kept of the last turn
    commands: Commands | None = None


def turns(
    conversation: Conversation,
    run: Run | None,
    *,
    working: bool,
    on_ask: OnAsk,
    noted: bool = False,
    commands: Commands | None = None,
) -> None:
    """Draw the finished turns, then the last one in a fragment that looks again while it is written.

    `on_ask` asks what a turn offers to ask. That no model is connected is said at the first answer, or at
    none if `noted` elsewhere. `working` is what the rest of the page was drawn for; once it changes, the
    fragment runs the whole page.
    """
    stored = _noted_once(conversation.turns, noted=noted)
    if run is not None and (working or not _is_stored(run, stored)):
        # The engine stores a turn early, in case of a kill; until it is done, the run shows it.
        finished = tuple(
            takewhile(lambda turn: turn.created_at < run.started and turn.id != run.in_place_of, stored)
        )
    else:
        finished = stored[:-1]
    place = Place(
        conversation.info.id,
        on_ask,
        noted,
        working=working,
        run=run,
        pending=_is_pending(stored),
        commands=commands,
    )
    for position, turn in enumerate(finished):
        _show(_view_of(turn, conversation), place, position)
    every = DRAIN_EVERY if working else LOOK_AGAIN_EVERY if place.pending else None
    st.fragment(_last_turn, run_every=every)(place, len(finished))
    components.follow(key="follow", data={"turn": _key(place, _looked_at(len(finished), working=working))})


def _is_pending(stored: Sequence[Turn]) -> bool:
    """Whether something is still to be kept of the last turn, which its line then says."""
    if not stored or time.time() - stored[-1].created_at > PENDING_S:
        return False
    return bool(data_of(stored[-1].answer.steps, "remember").get("pending"))


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


def _is_stored(run: Run, turns: Sequence[Turn]) -> bool:
    answer = run.snapshot().answer
    if answer is not None:
        return any(turn.id == answer.turn_id for turn in turns)
    if run.in_place_of:  # and did not come to it: the turn is as it was
        return any(turn.id == run.in_place_of for turn in turns)
    return any(turn.question == run.question and turn.created_at >= run.started for turn in turns)


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
        return running_view(snapshot) | {"consent": consent_view(place.conversation_id)}
    if place.pending and not _is_pending(turns):
        st.rerun()
    view = _view_of(turns[-1], conversation) | {
        "follow_ups": _follow_ups(turns),
    }
    failure = snapshot.failure if snapshot else None
    return failed_view(view, failure) if failure and view["failure"] else view


def _follow_ups(turns: Sequence[Turn]) -> list[str]:
    """What can be asked after the last turn and was not asked, rather not what was offered shortly before.

    Nothing where its answer broke off, or is beside the point.
    """
    asked = [turn.question for turn in turns]
    known, offered = list(asked), list[str]()
    for turn in turns[-OFFERED_BEFORE:]:
        known += offered
        offered = _offered_after(turn.answer, without=known)
    return offered or _offered_after(turns[-1].answer, without=asked)


def _offered_after(answer: Answer, *, without: Sequence[str]) -> list[str]:
    if answer.status != "complete" or answer.verdict != "answered":
        return []
    folded = {unit.marker for unit in answer.units if unit.folded}
    shown = [citation for citation in answer.citations if citation.marker not in folded]
    return next_topics(shown, process.athena().store.sections, without=without)


def _view_of(turn: Turn, conversation: Conversation) -> View:
    """A stored turn, and how many answers it has."""
    return _view_alone(turn, conversation.info.user) | {"versions": 1 + len(turn.versions)}


def _view_alone(turn: Turn, user: str) -> View:
    """A turn, with what the memories say now that it names."""
    answer, recalled = process.athena().with_memories(turn.answer, user=user)
    memory = process.athena().memory_of(user)
    return stored_view(
        answer,
        turn_id=turn.id,
        feedback=turn.feedback,
        word=turn.feedback_text,
        recalled=recalled,
        said=memory.said(recalled),
        changed=_changed(turn.answer, memory),
        documents=documents_are() if answer.abstained else "documents",
    )


def _changed(answer: Answer, memory: UserMemory) -> list[View]:
    """Return what the facts of a turn took the place of, with whether that was undone."""
    done, known = data_of(answer.steps, "remember"), memory.index.memories
    others = {item: memory.replaced_by(item) for item in done.get("replaced", ()) if item in known}
    return [changed_view(known[item], found) for item, found in others.items() if found]


def _unstored_view(answer: Answer) -> View:
    """An answer that could not be stored, which is all there is of its turn."""
    return _view_alone(Turn(answer.turn_id, answer.question, answer, 0.0), whose.user())


def _show(view: View, place: Place, position: int) -> None:
    key = _key(place, position)
    clicked = components.turn(
        key=key,
        data=view
        | _opened_in(view, shared().evidence)
        | {"busy": place.working, "link": _link(place.conversation_id, position)}
        | {"commands": place.commands.names if place.commands else ()},
        on_open_change=lambda: _open(key),
        on_stop_change=lambda: _stop(place.run),
        on_consent_change=lambda: _consent(key, place.conversation_id),
        on_ask_change=lambda: _ask(key, place.on_ask),
        on_instead_change=lambda: _ask_instead(key, place.on_ask),
        on_version_change=lambda: _choose(key, place.conversation_id, position),
        on_command_change=lambda: _put(key, place),
        on_inspect_change=lambda: None,
        on_feedback_change=lambda: _rate(key, place.conversation_id),
        on_forget_change=lambda: _forget(key),
        on_source_change=lambda: _source(key),
        on_undo_change=lambda: _undo(key),
    )
    if clicked.forget or clicked.source or clicked.undo:
        st.rerun()  # the whole page: it opens a dialog, or says what was done
    if clicked.ask or clicked.instead or clicked.version or clicked.command:
        st.rerun()  # the whole page: an answer is being written, others are shown, the console has a command
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
        question = well_formed(str(wanted["question"]))
        on_ask(question, verbatim=bool(wanted.get("verbatim")), alone=bool(wanted.get("alone")))


@messages.noticed
def _ask_instead(key: str, on_ask: OnAsk) -> None:
    """Ask a turn's question again, or another one in its place: the turn gets another version."""
    if wanted := sent(key, "instead"):
        question = well_formed(str(wanted["question"])).strip()
        check_length(question)
        on_ask(question, instead_of=str(wanted["turn"]))


@messages.noticed
def _choose(key: str, conversation_id: str, position: int) -> None:
    """Show another answer of a turn."""
    if wanted := sent(key, "version"):
        whose.get(conversation_id)  # this user's
        whose.store_of(conversation_id).choose(str(wanted["turn"]), int(str(wanted["version"])))
        st.query_params[ANSWER] = str(position + 1)


def _put(key: str, place: Place) -> None:
    if place.commands and (clicked := sent(key, "command")):
        place.commands.put(str(clicked["line"])[:LONGEST_COMMAND], int(clicked["at"]))


def _link(conversation_id: str, position: int) -> dict[str, str] | None:
    """What an address of an answer has; a private conversation has none that lasts."""
    if whose.is_kept_here(conversation_id):
        return None
    return {"c": conversation_id, ANSWER: str(position + 1)}


def _forget(key: str) -> None:
    if wanted := sent(key, "forget"):
        ask_to_forget([str(wanted["memory"])])


def _source(key: str) -> None:
    if wanted := sent(key, "source"):
        ask_for_source(str(wanted["memory"]))


@messages.noticed
def _undo(key: str) -> None:
    if wanted := sent(key, "undo"):
        user_memory().undo(str(wanted["memory"]))


def _consent(key: str, conversation_id: str) -> None:
    if wanted := sent(key, "consent"):
        answer_consent(conversation_id, str(wanted["id"]), allow=bool(wanted["allow"]))


def _stop(run: Run | None) -> None:
    """Stop the answer that was drawn, not the one after it."""
    if run:
        run.stop.set()


@messages.noticed
def _rate(key: str, conversation_id: str) -> None:
    if given := sent(key, "feedback"):
        value = int(given["value"]) or None
        word = str(given["word"])[:300] if value else ""
        private = whose.is_kept_here(conversation_id)
        process.athena().rate(str(given["turn"]), value, word, private=private)
