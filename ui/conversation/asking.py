"""Asking: the field for a question, and the answer that it starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from pipeline.errors import AthenaError
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
BUSY = "Another answer is being written in this conversation, asked in another window."
LONGEST_QUESTION = 4000  # characters


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a conversation; `verbatim`: its spelling is not corrected."""

    question: str
    conversation_id: str
    verbatim: bool = False


@dataclass(slots=True)
class Waiting:
    """What was asked in this session while an answer was being written, the first to be asked first."""

    questions: list[Asked] = field(default_factory=list)

    def of(self, conversation_id: str) -> list[Asked]:
        """Those of one conversation."""
        return [asked for asked in self.questions if asked.conversation_id == conversation_id]


def question_field(
    placeholder: str,
    *,
    key: str,
    conversation_id: str,
    working: bool,
    disabled: bool = False,
    on_ask: OnAsk,
) -> None:
    """Draw the field for a question; those asked while an answer is being written wait for their turn."""
    waiting = kept(Waiting).of(conversation_id)
    if waiting and not working and not disabled:
        kept(Waiting).questions.remove(waiting[0])
        on_ask(waiting[0].question, verbatim=waiting[0].verbatim)
        st.rerun()
    for number, asked in enumerate(waiting):
        st.caption(f"{'Then' if number else 'Next'}: {plain(shortened(asked.question, 120))}")
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=disabled,
        on_submit=_submit,
        args=(key, conversation_id if working else None, on_ask),
        max_chars=LONGEST_QUESTION,
    )


def _submit(key: str, answering: str | None, on_ask: OnAsk) -> None:
    """Ask, or keep the question until the conversation that is `answering` has its answer."""
    question = entered(key)
    if question and answering is not None:
        kept(Waiting).questions.append(Asked(question, answering))
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

    `goes_on` names the turn whose answer broke off and is written on. Where another window asked in the same
    conversation, a question is the next one that waits. Raises AthenaError where nothing can answer.
    """
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
    if runner().ask(asked, conversation_id=conversation_id, question=question, goes_on=goes_on) is None:
        if goes_on:
            raise AthenaError(BUSY, "Go on with this one once that is there.")
        kept(Waiting).questions.insert(0, Asked(question, conversation_id, verbatim))
    # What is looked at now is the new one. Last: a callback may be broken off where the address changes.
    st.query_params.pop(ANSWER, None)
