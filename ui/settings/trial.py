"""What if: the last question answered again with values that are not kept yet, beside its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.settings_changes import asking_with, drafted
from pipeline.answering.replies import without_model_note
from pipeline.errors import AthenaError, UnknownConversation
from pipeline.stores.conversations import scope_of
from pipeline.stores.globs import as_globs
from ui.conversation import whose
from ui.conversation.suggestions import suggestions
from ui.conversation.turns import stored_view
from ui.shared import components, links, messages, process, state
from ui.shared.fields import in_labels
from ui.shared.state import kept
from ui.shared.words import one_line, plain, shortened

if TYPE_CHECKING:
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Turn

ONLY_SHOWN = {"busy": True, "link": None, "open": None, "opened": None, "turn": "", "rated": False,
              "inspectable": False, "commands": ()}  # fmt: skip


@dataclass(slots=True)
class Trial:
    """The last trial of this session: of which question, with which values, and both answers."""

    asked: Asked | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    before: Answer | None = None
    after: Answer | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that is asked again; without a turn, it is an example that nobody has asked."""

    question: str
    turn_id: str = ""
    answer: Answer | None = None


def what_if(changes: Mapping[str, Any]) -> None:
    """Draw the button that asks the last question, or an example, with these values, and both answers."""
    st.subheader("What if?", anchor=False)
    asked = _asked()
    if asked is None:
        st.caption("Add documents first: then a question can be asked here with other values.")
        return
    known = "Your last question" if asked.answer else "You have not asked anything yet. An example"
    st.caption(f"{known}: {plain(shortened(one_line(asked.question), 120))}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label = "Ask it again with these values" if asked.answer else "Ask it as it is and with these values"
        clicked = st.button(label, key="try", icon=":material/compare_arrows:", disabled=not changes)
        links.link("inspector", "Compare rankings in the Inspector", icon=":material/account_tree:")
    trial = kept(Trial)
    if clicked:
        try:
            with st.spinner("Answering with these values …"):
                trial.before = asked.answer or _answered(asked, {})
                trial.after = _answered(asked, changes)
        except AthenaError as error:
            messages.show_error(in_labels(error.problem), in_labels(error.fix))
            return
        trial.asked, trial.changes = asked, dict(changes)
    if trial.before and trial.after and (trial.asked, trial.changes) == (asked, dict(changes)):
        _side_by_side(trial.before, trial.after)
    elif not changes:
        st.caption("Change a value above: nothing is kept before you save it.")


def _asked() -> Asked | None:
    """The last question of this session; else one that the documents answer; None where there are none."""
    if turn := last_turn():
        return Asked(turn.question, turn.id, turn.answer)
    documents = process.athena().store.sections.documents()
    return next(map(Asked, suggestions(documents)), None)


def _answered(asked: Asked, changes: Mapping[str, Any]) -> Answer:
    athena, answer = process.athena(), asked.answer
    settings = drafted(athena.settings, changes)
    question = (answer and answer.condensed_question) or asked.question
    return asking_with(athena, settings)(question, paths=as_globs(scope_of(answer)) if answer else None)


def last_turn() -> Turn | None:
    """The last turn of this session's conversation, or of the latest one, that searched the documents."""
    current = state.conversation_id()
    latest = [info.id for info in process.athena().conversations.list(user=whose.user(), limit=1)]
    for conversation in filter(None, [current, *latest]):
        try:
            turns = whose.get(conversation).turns
        except UnknownConversation:  # another user's, or deleted in another window
            continue
        searched = [turn for turn in turns if turn.answer.mode in ("quote", "generate")]
        if found := [turn for turn in searched if turn.question.strip()]:
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
