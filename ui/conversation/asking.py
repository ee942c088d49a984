"""Asking: the field for a question, and the answer that it starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from ui.conversation import whose
from ui.conversation.model_picker import picked_model
from ui.conversation.runner import runner
from ui.shared import process
from ui.shared.state import entered

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona

WORKING = "Esc stops the answer"
LONGEST_QUESTION = 4000  # characters


def question_field(
    placeholder: str, *, key: str, working: bool, disabled: bool = False, on_ask: Callable[[str], None]
) -> None:
    """Draw the field for a question; it waits while an answer is being written."""
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=working or disabled,
        on_submit=_submit,
        args=(key, on_ask),
        max_chars=LONGEST_QUESTION,
    )


def _submit(key: str, on_ask: Callable[[str], None]) -> None:
    question = entered(key)
    if question:
        on_ask(question)


class OnAsk(Protocol):
    """What asks a question in a conversation; `verbatim`: its spelling is not corrected."""

    def __call__(self, question: str, *, verbatim: bool = False) -> None:
        """Start answering, and report what prevents it on the page."""


def start_answer(
    question: str, *, conversation_id: str, persona: Persona | None = None, verbatim: bool = False
) -> None:
    """Start answering with the picked model, a `verbatim` question as it is spelled.

    Raises AthenaError where nothing can answer.
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
    runner().ask(engine, conversation_id=conversation_id, question=question)
