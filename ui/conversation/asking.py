"""Asking: the field for a question, and the answer that it starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from pipeline.asking.questions import too_long
from pipeline.errors import AthenaError
from ui.conversation import whose
from ui.conversation.agents import agent_of_conversation
from ui.conversation.model_picker import picked_model
from ui.conversation.runner import runner
from ui.shared import process
from ui.shared.state import ANSWER, choose, entered, kept
from ui.shared.words import plain, shortened

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona
    from pipeline.chat import ChatRecipe
    from pipeline.steps.events import ChatEvent
    from ui.conversation.runner import Engine

WORKING = "Ask the next question; Esc stops the answer"
BUSY = "Another answer is being written in this conversation, asked in another window."


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a conversation; `verbatim`: its spelling is not corrected; `alone`: without history."""

    question: str
    conversation_id: str
    verbatim: bool = False
    alone: bool = False


@dataclass(slots=True)
class Waiting:
    """What was asked in this session while an answer was being written, the first to be asked first."""

    questions: list[Asked] = field(default_factory=list)

    def of(self, conversation_id: str) -> list[Asked]:
        """Those of one conversation."""
        return [asked for asked in self.questions if asked.conversation_id == conversation_id]


@dataclass(slots=True)
class TooLong:
    """What is said above the field where its text is too long to be asked."""

    told: str = ""


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
        on_ask(waiting[0].question, verbatim=waiting[0].verbatim, alone=waiting[0].alone)
        st.rerun()
    for number, asked in enumerate(waiting):
        st.caption(f"{'Then' if number else 'Next'}: {plain(shortened(asked.question, 120))}")
    if told := kept(TooLong).told:
        st.warning(told)
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=disabled,
        on_submit=_submit,
        args=(key, conversation_id if working else None, on_ask),
    )


def _submit(key: str, answering: str | None, on_ask: OnAsk) -> None:
    """Ask, or keep the question until the conversation that is `answering` has its answer."""
    question = entered(key)
    kept(TooLong).told = told = too_long(question)
    if told:
        choose(key, question)  # it stays in the field
    elif question and answering is not None:
        kept(Waiting).questions.append(Asked(question, answering))
    elif question:
        on_ask(question)


class OnAsk(Protocol):
    """What asks a question in a conversation; see `Asked`.

    `instead_of` names the turn that it is another version of.
    """

    def __call__(
        self, question: str, *, verbatim: bool = False, alone: bool = False, instead_of: str = ""
    ) -> None:
        """Start answering, and report what prevents it on the page."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A chat that answers a question without what was said before."""

    chat: ChatRecipe

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of the answer."""
        return self.chat.run(message, stop=stop, history=())


@dataclass(frozen=True, slots=True)
class AskingInstead:
    """A chat that answers in the place of a turn."""

    chat: ChatRecipe
    turn_id: str

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of the other version."""
        return self.chat.run(message, stop=stop, instead_of=self.turn_id)


def start_answer(
    question: str,
    *,
    conversation_id: str,
    persona: Persona | None = None,
    verbatim: bool = False,
    alone: bool = False,
    instead_of: str = "",
) -> None:
    """Start answering with the picked model: `verbatim` as it is spelled, `alone` without the history.

    `instead_of` names the turn that gets another version.
    Where another window asked in the same conversation, a question is the next one that waits. Raises
    AthenaError where nothing can answer.
    """
    athena = process.athena()
    options = athena.options.but(spelling=False) if verbatim else None
    engine = athena.chat(
        conversation_id=conversation_id,
        llm=picked_model(),
        options=options,
        persona=persona,
        user=whose.user(),
        agent=agent_of_conversation(conversation_id),
    )
    asked: Engine = engine
    if instead_of:
        asked = AskingInstead(engine, instead_of)
    elif alone:
        asked = Alone(engine)
    run = runner().ask(asked, conversation_id=conversation_id, question=question, in_place_of=instead_of)
    if run is None:
        if instead_of:
            raise AthenaError(BUSY, "Go on with this one once that is there.")
        kept(Waiting).questions.insert(0, Asked(question, conversation_id, verbatim, alone))
    # What is looked at now is the new one. Last: a callback may be broken off where the address changes.
    st.query_params.pop(ANSWER, None)
