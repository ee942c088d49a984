"""One conversation: its finished turns, the turn that is being written, and the evidence pane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.answering.replies import without_model_note
from pipeline.asking.questions import check_length
from pipeline.asking.suggestions import next_topics
from pipeline.errors import UnknownConversation
from pipeline.stores.turns import Turn
from pipeline.words import well_formed
from ui.conversation import whose
from ui.conversation.agents import answer_consent, consent_html
from ui.conversation.answers import answer_markdown, kind_of, meta, running_html, stored_html
from ui.conversation.evidence import evidence_pane
from ui.conversation.runner import Run, runner
from ui.shared import components, links, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import ANSWER, OpenEvidence, entered, sent, shared
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversation
    from ui.conversation.asking import OnAsk
    from ui.conversation.runner import RunSnapshot

LONGEST_COMMAND = 200  # characters
DRAIN_EVERY = 0.2  # seconds between two polls of a running answer
EDIT, AGAIN, OTHER = "Edit the question …", "Answer again", "Show another answer"
IN_PLACE = ("open", "stop", "consent")  # acts after which only the turn is drawn again


@dataclass(frozen=True, slots=True)
class Commands:
    """Console commands that answers offer as buttons: their first words, and the function for a click."""

    names: tuple[str, ...]
    put: Callable[[str, int], None]  # gets the command and a number that grows with each click


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation on a page, and the function that asks a question in it."""

    conversation: Conversation
    on_ask: OnAsk
    working: bool  # an answer is being written: nothing else can be asked
    naming: bool = False  # its title is being written, or the sidebar may still show the old one
    run: Run | None = None  # its latest run
    commands: Commands | None = None

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.conversation.info.id


def turns(
    conversation: Conversation,
    run: Run | None,
    *,
    working: bool,
    on_ask: OnAsk,
    commands: Commands | None = None,
) -> None:
    """Draw the finished turns, then the last one in a fragment that runs again while it is written.

    `working` says whether an answer was being written when the page was drawn. Once that changes, or the
    title is written, the fragment runs the whole page.
    """
    stored = conversation.turns
    if run is not None and (working or not _is_stored(run, stored)):
        # The engine stores an unfinished turn in case of a kill; until its end, the run is drawn instead.
        finished = tuple(
            takewhile(lambda turn: turn.created_at < run.started and turn.id != run.in_place_of, stored)
        )
    else:
        finished = stored[:-1]
    naming = run is not None and not working and (run.naming or shared().working == conversation.info.id)
    place = Place(conversation, on_ask, working, naming, run, commands)
    for position, turn in enumerate(finished):
        _stored_turn(turn, place, position)
    st.fragment(_last_turn, run_every=DRAIN_EVERY if working or naming else None)(place, len(finished))
    components.follow(key="follow", data={"turn": _key(place, _looked_at(len(finished), working=working))})


def _looked_at(last: int, *, working: bool) -> int:
    """Return the position, from 0, of the turn to show at the top: the one in the address, or the last."""
    named = st.query_params.get(ANSWER, "")
    return int(named) - 1 if named.isdecimal() and 0 < int(named) <= last and not working else last


def _is_stored(run: Run, turns: Sequence[Turn]) -> bool:
    answer = run.snapshot().answer
    if answer is not None:
        return any(turn.id == answer.turn_id for turn in turns)
    if run.in_place_of:  # but no answer came: the turn is unchanged
        return any(turn.id == run.in_place_of for turn in turns)
    return any(turn.question == run.question and turn.created_at >= run.started for turn in turns)


@messages.shown
def _last_turn(place: Place, position: int) -> None:
    """Draw the last turn and the evidence pane; both can change without a run of the whole page."""
    run = runner().of(place.id)
    working, naming = run is not None and run.working, run is not None and run.naming
    if (working, naming) != (place.working, place.naming):
        st.rerun()  # an answer began or ended, or the sidebar shows another title
    try:
        stored = () if place.working else whose.store_of(place.id).get(place.id).turns
    except UnknownConversation:  # deleted in another window: the page shows a message
        st.rerun()
    now = run.snapshot() if run else None
    if now is not None and (place.working or len(stored) <= position or not _is_stored(run, stored)):  # type: ignore[arg-type]
        with st.container(key="last-turn"):
            _running_turn(now, place, position)
        shown = place.conversation.turns[:position]
    elif len(stored) <= position:
        st.rerun()
    else:
        with st.container(key="last-turn"):
            _stored_turn(stored[-1], place, position, failure=now, last=stored)
        shown = stored
    with st.container(key="evidence"):
        evidence_pane(shown, working=place.working)


def _running_turn(now: RunSnapshot, place: Place, position: int) -> None:
    """Draw a turn that is being written or was not stored."""
    if now.answer and not now.working:
        html = stored_html(*process.athena().with_memories(now.answer, user=whose.user()))
    else:
        html = running_html(now, consent=consent_html(place.id))
    _turn(html, place, position, question=now.question)


def _stored_turn(
    turn: Turn, place: Place, position: int, *, failure: RunSnapshot | None = None, last: Sequence[Turn] = ()
) -> None:
    """Draw a finished turn and its tools; if it is the last, `last` has all turns, to suggest topics."""
    answer, memories = process.athena().with_memories(turn.answer, user=place.conversation.info.user)
    answer = replace(answer, notices=without_model_note(answer.notices))
    html = stored_html(answer, memories, failure=failure.failure if failure else None)
    _turn(html, place, position, question=turn.question, turn_id=turn.id)
    _tools(turn, answer, place, position)
    if last and not (place.working or place.commands) and (topics := _follow_ups(last)):
        key = f"next-{turn.id}-{len(turn.versions)}"
        st.pills("Ask next", topics, key=key, label_visibility="collapsed", format_func=plain,
                 on_change=_ask_next, args=(key, place.on_ask))  # fmt: skip


# -- below an answer ---------------------------------------------------------------------------


def _tools(turn: Turn, answer: Answer, place: Place, position: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"tools-{turn.id}"):
        if text := meta(answer):
            st.caption(plain(text), width="content")
        if answer.steps and kind_of(answer) != "reply":
            how = st.button("How was this found?", icon=":material/account_tree:", type="tertiary",
                            key=f"how-{turn.id}")  # fmt: skip
            if how:
                named = {} if whose.is_kept_here(place.id) else {"c": place.id}
                links.go("inspector", **named, **{ANSWER: str(position + 1)})
        components.copy(key=f"copy-{turn.id}", data={"text": answer_markdown(answer)}, width="content")
        if kind_of(answer) != "reply":
            rated = {1: 1, -1: 0}.get(turn.feedback or 0)
            st.feedback(
                "thumbs", key=f"rate-{turn.id}", default=rated, on_change=_rate, args=(turn.id, place.id)
            )
        options = [EDIT, *([AGAIN] if answer.model else []), *([OTHER] if turn.versions else [])]
        st.menu_button("More", options, key=f"more-{turn.id}", icon=":material/more_horiz:", type="tertiary",
                       disabled=place.working, on_click=_manage, args=(turn, place))  # fmt: skip
    if entered(f"more-{turn.id}"):
        st.rerun()  # the whole page, for a dialog or a new answer


@messages.noticed
def _manage(turn: Turn, place: Place) -> None:
    match entered(f"more-{turn.id}"):
        case "Edit the question …":
            open_dialog("Edit the question", partial(_edit, turn, place))
        case "Answer again":
            place.on_ask(turn.question, instead_of=turn.id)
        case "Show another answer":
            whose.get(place.id)  # raises if it is not this user's
            whose.store_of(place.id).choose(turn.id, len(turn.versions) - 1)


def _edit(turn: Turn, place: Place) -> None:
    with st.form(f"edit-{turn.id}", border=False):
        question = st.text_area("Question", value=turn.question, max_chars=4000, height=120)
        st.caption("Your new question replaces this one. The questions after it are deleted.")
        if st.form_submit_button("Ask", type="primary") and question.strip():
            check_length(question)
            place.on_ask(well_formed(question).strip(), instead_of=turn.id)
            end_dialog()


@messages.noticed
def _rate(turn_id: str, conversation_id: str) -> None:
    chosen = {"1": 1, "0": -1}.get(entered(f"rate-{turn_id}"))
    process.athena().rate(turn_id, chosen, private=whose.is_kept_here(conversation_id))


def _follow_ups(turns: Sequence[Turn]) -> list[str]:
    """Return headings near the passages that the last answer cites, except those already asked."""
    answer = turns[-1].answer
    if answer.status != "complete" or answer.verdict != "answered":
        return []
    folded = {unit.marker for unit in answer.units if unit.folded}
    cited = [citation for citation in answer.citations if citation.marker not in folded]
    asked = [turn.question for turn in turns]
    return next_topics(cited, process.athena().store, without=asked)


@messages.noticed
def _ask_next(key: str, on_ask: OnAsk) -> None:
    if topic := entered(key):
        on_ask(topic)


# -- clicks in a turn --------------------------------------------------------------------------------------


def _turn(html: str, place: Place, position: int, *, question: str, turn_id: str = "") -> None:
    """Draw a turn's component."""
    key, opened = _key(place, position), shared().evidence
    is_open = opened is not None and turn_id and opened.turn_id == turn_id
    data = {
        "html": html,
        "open": {"kind": opened.kind, "marker": opened.marker} if is_open and opened else None,
        "commands": place.commands.names if place.commands else (),
    }
    clicked = components.turn(
        key=key, data=data, on_act_change=lambda: _act(key, place, question=question, turn_id=turn_id)
    )
    if clicked.act and clicked.act.get("act") not in IN_PLACE:
        st.rerun()  # the whole page, for a new answer or a command on the console


def _key(place: Place, position: int) -> str:
    return f"turn-{place.id}-{position}"


@messages.noticed
def _act(key: str, place: Place, *, question: str, turn_id: str) -> None:
    """Handle a click in a turn. Nothing new can be asked while an answer is being written."""
    clicked = sent(key, "act")
    act = clicked.get("act")
    if act == "open":
        shared().evidence = OpenEvidence(turn_id, clicked["kind"], int(clicked["marker"]))
    elif act == "stop" and place.run:
        place.run.stop.set()
    elif act == "consent":
        answer_consent(place.id, str(clicked["call"]), allow=clicked["allow"] == "yes")
    elif act == "command" and place.commands:
        place.commands.put(str(clicked["line"])[:LONGEST_COMMAND], int(clicked["at"]))
    elif act == "everywhere" and not place.working:
        whose.store_of(place.id).set_scope(place.id, ())
        place.on_ask(question)
