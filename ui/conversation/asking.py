"""Asking: the field for a question, and the answer that it starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from ui.conversation import whose
from ui.conversation.model_picker import picked_model
from ui.conversation.runner import runner
from ui.shared import process
from ui.shared.state import ANSWER, entered, kept
from ui.shared.words import plain, shortened

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona
    from pipeline.chat import ChatRecipe
    from pipeline.steps.events import ChatEvent

WORKING = "Ask the next question; Esc stops the answer"
LONGEST_QUESTION = 4000  # characters


@dataclass(slots=True)
class Waiting:
    """The question that was asked in a conversation while an answer was being written; "" = none."""

    question: str = ""
    conversation_id: str = ""


def question_field(
    placeholder: str,
    *,
    key: str,
    conversation_id: str,
    working: bool,
    disabled: bool = False,
    on_ask: Callable[[str], None],
) -> None:
    """Draw the field for a question; one that is asked while an answer is being written waits for its end."""
    waiting = kept(Waiting)
    here = waiting.question and waiting.conversation_id == conversation_id
    if here and not working and not disabled:
        question, waiting.question = waiting.question, ""
        on_ask(question)
        st.rerun()
    if here:
        st.caption(f"Next: {plain(shortened(waiting.question, 120))}")
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=disabled,
        on_submit=_submit,
        args=(key, conversation_id if working else None, on_ask),
        max_chars=LONGEST_QUESTION,
    )


def _submit(key: str, answering: str | None, on_ask: Callable[[str], None]) -> None:
    """Ask, or keep the question until the conversation that is `answering` has its answer."""
    question = entered(key)
    if question and answering is not None:
        waiting = kept(Waiting)
        waiting.question, waiting.conversation_id = question, answering
    elif question:
        on_ask(question)


class OnAsk(Protocol):
    """What asks a question in a conversation; `verbatim`: its spelling is not corrected."""

    def __call__(self, question: str, *, verbatim: bool = False) -> None:
        """Start answering, and report what prevents it on the page."""


@dataclass(frozen=True, slots=True)
class GoingOn:
    """A chat that writes on an answer that broke off."""

    chat: ChatRecipe
    turn_id: str

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:  # noqa: ARG002
        """Yield the events of the rest."""
        return self.chat.go_on(self.turn_id, stop=stop)


def start_answer(
    question: str,
    *,
    conversation_id: str,
    persona: Persona | None = None,
    verbatim: bool = False,
    goes_on: str = "",
) -> None:
    """Start answering with the picked model, a `verbatim` question as it is spelled.

    `goes_on` names the turn whose answer broke off and is written on. Raises AthenaError where nothing can
    answer.
    """
    st.query_params.pop(ANSWER, None)  # what is looked at now is the new one
    athena = process.athena()
    options = athena.options.but(spelling=False) if verbatim else None
    engine = athena.chat(
        conversation_id=conversation_id,
        llm=picked_model(),
        options=options,
        persona=persona,
        user=whose.user(),
    )
    asked = GoingOn(engine, goes_on) if goes_on else engine
    runner().ask(asked, conversation_id=conversation_id, question=question, goes_on=goes_on)
