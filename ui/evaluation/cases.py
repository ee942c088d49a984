"""Cases: answers that somebody thought of, made into questions that are asked again after every change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import streamlit as st

from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.case_making import ask_to_make_case
from ui.evaluation.inspecting import inspect_button
from ui.evaluation.trials import trials
from ui.shared import messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import local_time, one_line, plain, shortened

if TYPE_CHECKING:
    from evals.cases import Located, State
    from pipeline.stores.cases import Case
    from pipeline.stores.conversations import Turn

Colour = Literal["red", "orange", "blue", "green"]

PAGE = 20
"""Cases, or rated answers, that are listed at first, and once more each time that more are asked for."""
EMPTY = (
    "No cases yet. Rate an answer in the chat with a thumb and make it a case here. It can be asked again "
    "after every change of settings, models or documents."
)
STATES: Mapping[State, tuple[str, Colour, str]] = {
    "failing": (":material/close:", "red", "It does not show what it should."),
    "moved": (":material/move_down:", "orange", "The document changed under what should be found."),
    "new": (":material/radio_button_unchecked:", "blue", "It was not asked again yet."),
    "passing": (":material/check:", "green", "It shows what it should, or abstains where it should."),
}
"""How a case may stand, what is to be done first coming first."""


@dataclass(slots=True)
class Listed:
    """How much of the cases this session has asked for."""

    pages: int = 1


def cases(*, busy: bool) -> None:
    """Draw what may become a case, the cases with their states, and what asks them again."""
    from evals.cases import locate

    athena, user = process.athena(), whose.user()
    known = athena.cases.list(user)
    _rated({case.turn_id for case in known})
    if not known:
        st.text(EMPTY)
        return
    located = locate(known, athena.store.sections)
    order = list(STATES)
    located.sort(key=lambda one: (order.index(one.state), -one.case.created_at))
    st.subheader(counted(len(known), "case"), anchor=False)
    _counts(located)
    trials(user, busy=busy)
    shown = kept(Listed).pages * PAGE
    for one in located[:shown]:
        _case(one)
    if len(located) > shown:
        st.button(f"Show more of {counted(len(located), 'case')}", key="more-cases", on_click=_more)


def _more() -> None:
    kept(Listed).pages += 1


# -- rated answers ------------------------------------------------------------------------------------------


def _rated(made: set[str]) -> None:
    """Draw the answers with a thumb that are no cases yet, those with a thumb down first."""
    conversations, user = process.athena().conversations, whose.user()
    turns = [turn for value in (-1, 1) for turn in conversations.rated(user, value) if turn.id not in made]
    if not turns:
        return
    with st.container(border=True, key="rated"):
        st.markdown(f"**{counted(len(turns), 'rated answer')} could become a case**")
        for turn in turns[:PAGE]:
            _rated_turn(turn)
        if len(turns) > PAGE:
            st.caption(f"And {len(turns) - PAGE} more.")


def _rated_turn(turn: Turn) -> None:
    icon = ":material/thumb_down:" if turn.feedback == -1 else ":material/thumb_up:"
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(gap="xsmall", width="stretch"):
            st.markdown(f"{icon} {plain(shortened(one_line(turn.question), 160))}")
            said = f" · “{turn.feedback_text}”" if turn.feedback_text else ""
            st.caption(plain(f"{local_time(turn.created_at)}{said}"))
        st.button("Make it a case", key=f"make-{turn.id}", on_click=ask_to_make_case, args=(turn,))


# -- cases --------------------------------------------------------------------------------------------------


def _counts(located: Sequence[Located]) -> None:
    counts = Counter(one.state for one in located)
    with st.container(horizontal=True):
        for name, (icon, colour, says) in STATES.items():
            if counts[name]:
                st.badge(f"{counts[name]} {name}", icon=icon, color=colour, help=says)


def _case(one: Located) -> None:
    case = one.case
    icon, colour, says = STATES[one.state]
    with st.container(border=True, key=f"case-{case.id}", gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(one.state.capitalize(), icon=icon, color=colour, help=says)
            st.caption(f"asked {local_time(case.replayed_at)}" if case.replayed_at else "not asked again yet")
        st.text(one_line(case.question))
        if case.history:
            st.caption(f"After {counted(len(case.history), 'message')}.")
        st.caption(plain(_wanted(one)))
        if one.state == "failing" and case.why:
            st.caption(plain(case.why))
        with st.container(horizontal=True):
            inspect_button(case.question, key=f"inspect-{case.id}", history=case.history, scope=case.scope)
            st.button("Delete", key=f"delete-{case.id}", icon=":material/delete:", type="tertiary",
                      on_click=open_dialog, args=("Delete this case?", partial(_delete, case)))  # fmt: skip


def _wanted(one: Located) -> str:
    """What the case should find, and what of it stands nowhere any more."""
    if one.lost:
        gone = one.lost[0]
        return f"{gone.file} does not say any more: “{shortened(one_line(gone.quote), 120)}”"
    if not one.case.gold:
        return "Should abstain."
    places = (" › ".join([gold.file, *gold.heading_path]) for gold in one.case.gold)
    return f"Should show {', or '.join(places)}"


def _delete(case: Case) -> None:
    """Ask before a case is deleted."""
    st.text(f"“{shortened(one_line(case.question), 120)}” will not be asked again. Its conversation stays.")
    if messages.confirmed(no="Keep it", yes="Delete", key="case"):
        process.athena().cases.delete(case.id)
        end_dialog()
