"""Asking: the field for a question, files dropped on it, and the answer that they start."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from pipeline.asking.questions import LONGEST_MESSAGE, TOO_LONG
from pipeline.errors import AthenaError
from pipeline.ingesting.uploads import UploadedFile
from pipeline.steps.events import AnswerFinished, StepStarted
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.agents import agent_of_conversation
from ui.conversation.runner import runner
from ui.shared import messages, process
from ui.shared.state import choose, submitted
from ui.shared.uploading import TYPES, index_files
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.persona import Persona
    from pipeline.steps.events import ChatEvent

WORKING = "Press Esc or Stop to end the answer"
BUSY = "An answer is being written in this conversation. Wait for it, or stop it."
ABOUT_FILES = "What is this about?"  # the question if files are dropped without one
TITLE = "Write a title of two to six words for a conversation that begins with this question:\n\n"
TITLE_S = 30.0


class OnAsk(Protocol):
    """A function that asks a question in a conversation, and shows an error on the page.

    `instead_of` is the id of the turn to replace. `files` are indexed first, and then become the scope of
    the conversation.
    """

    def __call__(self, question: str, *, instead_of: str = "", files: Sequence[UploadedFile] = ()) -> None:
        """Start answering."""


def question_field(
    placeholder: str,
    *,
    key: str,
    conversation_id: str,
    working: bool,
    disabled: bool = False,
    takes_files: bool = True,
    on_ask: OnAsk,
) -> None:
    """Draw the field for a question; it calls `on_ask` with the question and the files."""
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=disabled,
        accept_file="multiple" if takes_files else False,
        file_type=TYPES,
        submit_mode="disable",  # until the page has run: a second question cannot replace the first
        on_submit=_submit,
        args=(key, conversation_id, on_ask),
    )


def _submit(key: str, conversation_id: str, on_ask: OnAsk) -> None:
    """Ask the submitted question; if that is not possible now, keep it in the field and show why."""
    question, files = submitted(key)
    run = runner().of(conversation_id)
    is_busy = run is not None and run.working
    if is_busy or len(question) > LONGEST_MESSAGE:
        messages.notify(BUSY if is_busy else TOO_LONG.format(len(question), LONGEST_MESSAGE))
        choose(key, question)
    elif question or files:
        sent = [UploadedFile(file.name, file.getvalue()) for file in files]
        on_ask(question or ABOUT_FILES, files=sent)


def start_answer(
    question: str,
    *,
    conversation_id: str,
    persona: Persona | None = None,
    instead_of: str = "",
    files: Sequence[UploadedFile] = (),
    begins: bool = False,
) -> None:
    """Start answering in the background; see `OnAsk`. If the conversation `begins`, a model writes its title.

    Raises `AthenaError` if nothing can answer, or another answer is being written in the conversation.
    """
    athena, store = process.athena(), whose.store_of(conversation_id)
    titled = begins and not whose.is_kept_here(conversation_id)
    make = partial(
        athena.chat,
        conversation_id=conversation_id,
        persona=persona,
        user=whose.user(),
        agent=agent_of_conversation(conversation_id),
    )
    ready = None if files else make()  # a chat about files is made once they are indexed

    def answer(stop: threading.Event) -> Iterator[ChatEvent]:
        if files:
            yield StepStarted("read", f"Reading {counted(len(files), 'file')}")
            store.set_scope(conversation_id, index_files(athena, files))
        for event in (ready or make()).run(question, stop=stop, instead_of=instead_of):
            yield event
            if titled and isinstance(event, AnswerFinished) and event.answer.mode == "generate":
                _title(athena, conversation_id, question)

    run = runner().ask(answer, conversation_id=conversation_id, question=question, in_place_of=instead_of)
    if run is None:
        raise AthenaError(BUSY, "")


def _title(athena: Athena, conversation_id: str, question: str) -> None:
    """Rename a conversation to a title by the language model; without one, the question stays its title."""
    from pipeline.models.generation import complete

    llm, _ = athena.models.language_model()
    with suppress(AthenaError):
        written = complete(llm, TITLE + question, timeout_s=TITLE_S) if llm else ""
        if title := one_line(written).strip(" \"'“”.#*"):
            athena.conversations.rename(conversation_id, shortened(title, 60))
