"""What if: the last question answered again with values that are not kept yet, beside its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.settings_changes import drafted, try_out
from pipeline.answering.replies import without_model_note
from pipeline.errors import AthenaError, UnknownConversation
from pipeline.stores.conversations import scope_of
from pipeline.stores.globs import as_globs
from ui.conversation import whose
from ui.conversation.turns import stored_view
from ui.shared import components, links, messages, process, state
from ui.shared.state import kept
from ui.shared.words import one_line, plain, shortened

if TYPE_CHECKING:
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Turn

ONLY_SHOWN = {"busy": True, "link": None, "open": None, "opened": None, "turn": "", "rated": False,
              "inspectable": False}  # fmt: skip


@dataclass(slots=True)
class Trial:
    """The last trial of this session: of which turn, with which values, and what came of it."""

    turn_id: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    answer: Answer | None = None


def what_if(changes: Mapping[str, Any]) -> None:
    """Draw the button that asks the last question with these values, and both answers."""
    st.subheader("What if?", anchor=False)
    turn = last_turn()
    if turn is None:
        st.caption(
            "Ask a question first: here it can be asked again with other values, before they are kept."
        )
        return
    st.caption(f"Your last question: {plain(shortened(one_line(turn.question), 120))}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        asked = st.button("Ask it again with these values", key="try", icon=":material/compare_arrows:",
                          disabled=not changes)  # fmt: skip
        links.link("inspector", "Compare rankings in the Inspector", icon=":material/account_tree:")
    trial = kept(Trial)
    if asked:
        try:
            with st.spinner("Answering with these values …"):
                answer = _answered(turn, changes)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        trial.turn_id, trial.changes, trial.answer = turn.id, dict(changes), answer
    if trial.answer is not None and (trial.turn_id, trial.changes) == (turn.id, dict(changes)):
        _side_by_side(turn.answer, trial.answer)
    elif not changes:
        st.caption("Change a value above: nothing is kept before you save it.")


def _answered(turn: Turn, changes: Mapping[str, Any]) -> Answer:
    athena, answer = process.athena(), turn.answer
    settings = drafted(athena.settings, changes)
    question = answer.condensed_question or answer.question
    return try_out(athena, settings, question, paths=as_globs(scope_of(answer)))


def last_turn() -> Turn | None:
    """The last turn of this session's conversation, or of the latest one, that searched the documents."""
    current = state.conversation_id()
    latest = [info.id for info in process.athena().conversations.list(user=whose.user(), limit=1)]
    for conversation in filter(None, [current, *latest]):
        try:
            turns = whose.get(conversation).turns
        except UnknownConversation:  # another user's, or deleted in another window
            continue
        if found := [turn for turn in turns if turn.answer.mode in ("quote", "generate")]:
            return found[-1]
    return None


def _side_by_side(before: Answer, after: Answer) -> None:
    for column, title, answer, key in zip(
        st.columns(2), ("As answered", "With these values"), (before, after), ("before", "after"), strict=True
    ):
        with column, st.container(border=True, key=f"trial-{key}"):
            st.markdown(f"**{title}**")
            said = replace(answer, recalled=(), notices=without_model_note(answer.notices))
            view = stored_view(said, turn_id="") | ONLY_SHOWN
            components.turn(key=f"trial-answer-{key}", data=view)
