"""Asking: the field for a question, files dropped on it, and the answer that they start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import streamlit as st

from pipeline.asking.questions import too_long
from pipeline.errors import AthenaError
from pipeline.ingesting.uploads import UploadedFile
from pipeline.steps.events import AnswerFinished, StepStarted
from pipeline.words import counted
from readers.formats import FORMATS
from ui.conversation import whose
from ui.conversation.agents import agent_of_conversation
from ui.conversation.runner import runner
from ui.shared import process
from ui.shared.state import choose, kept, submitted
from ui.shared.uploading import index_files
from ui.shared.words import one_line, plain, shortened

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.persona import Persona
    from pipeline.chat import ChatRecipe
    from pipeline.steps.events import ChatEvent
    from ui.conversation.runner import Engine

WORKING = "Ask the next question. Esc stops the answer."
BUSY = "Another answer is being written in this conversation, asked in another window."
TYPES = [suffix.removeprefix(".") for known in FORMATS for suffix in known.suffixes]
ABOUT_FILES = "What is this about?"  # where files are dropped without a question
TITLE = "Write a title of two to six words for a conversation that begins with this question:\n\n"
TITLE_S = 30.0


class OnAsk(Protocol):
    """Asks a question in a conversation, and reports what prevents it on the page.

    `verbatim`: the spelling is not corrected; `instead_of` names the turn that it replaces; `files` are
    indexed first, and the question is about them.
    """

    def __call__(
        self,
        question: str,
        *,
        verbatim: bool = False,
        instead_of: str = "",
        files: Sequence[UploadedFile] = (),
    ) -> None:
        """Start answering."""


@dataclass(slots=True)
class Waiting:
    """Questions that wait for an answer to end, with their conversations, the next one first."""

    questions: list[tuple[str, str]] = field(default_factory=list)
    told: str = ""  # why what stands in the field cannot be asked


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
    """Draw the field for a question; those asked while an answer is being written wait for their turn."""
    waiting = kept(Waiting)
    mine = [question for question, conversation in waiting.questions if conversation == conversation_id]
    if mine and not working and not disabled:
        waiting.questions.remove((mine[0], conversation_id))
        on_ask(mine[0])
        st.rerun()
    for question in mine:
        st.caption(f"Next: {plain(shortened(one_line(question), 120))}")
    if waiting.told:
        st.warning(waiting.told)
    st.chat_input(
        WORKING if working else placeholder,
        key=key,
        disabled=disabled,
        accept_file="multiple" if takes_files else False,
        file_type=TYPES,
        submit_mode="disable",  # until this run ends: a second question cannot take the place of the first
        on_submit=_submit,
        args=(key, conversation_id if working else None, on_ask),
    )


def _submit(key: str, answering: str | None, on_ask: OnAsk) -> None:
    """Ask, or keep the question until the conversation that is `answering` has its answer."""
    question, sent = submitted(key)
    files = [UploadedFile(file.name, file.getvalue()) for file in sent]
    waiting = kept(Waiting)
    waiting.told = too_long(question)
    if waiting.told:
        choose(key, question)  # it stays in the field
    elif question and answering is not None and not files:
        waiting.questions.append((question, answering))
    elif question or files:
        on_ask(question or ABOUT_FILES, files=files)


@dataclass(frozen=True, slots=True)
class FilesFirst:
    """Indexes files, then asks about them alone."""

    athena: Athena
    conversation_id: str
    files: Sequence[UploadedFile]
    make: Callable[[], ChatRecipe]

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of the answer; raises `AthenaError` where nothing of the files can be read."""
        yield StepStarted("read", f"Reading {counted(len(self.files), 'file')}")
        globs = index_files(self.athena, self.files)
        private = self.conversation_id in self.athena.private_conversations
        store = self.athena.private_conversations if private else self.athena.conversations
        store.set_scope(self.conversation_id, globs)
        yield from self.make().run(message, stop=stop)


@dataclass(frozen=True, slots=True)
class Titled:
    """Asks, and lets the language model write the title of a conversation that begins."""

    athena: Athena
    conversation_id: str
    engine: Engine

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of the answer."""
        for event in self.engine.run(message, stop=stop):
            yield event
            if isinstance(event, AnswerFinished) and event.answer.mode == "generate" and event.answer.turn_id:
                threading.Thread(target=self._title, args=(message,), name="title", daemon=True).start()

    def _title(self, question: str) -> None:
        from pipeline.models.generation import complete

        llm, _ = self.athena.models.language_model()
        try:
            said = complete(llm, TITLE + question, timeout_s=TITLE_S) if llm else ""
            if title := one_line(said).strip(" \"'“”.#*"):
                self.athena.conversations.rename(self.conversation_id, shortened(title, 60))
        except AthenaError:  # it keeps the question as its title
            return


@dataclass(frozen=True, slots=True)
class Instead:
    """Answers in the place of a turn."""

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
    instead_of: str = "",
    files: Sequence[UploadedFile] = (),
    begins: bool = False,
) -> None:
    """Start answering; see `OnAsk`. A conversation that `begins` gets a title.

    Where another window asked in the same conversation, a question is the next one that waits. Raises
    `AthenaError` where nothing can answer.
    """
    athena = process.athena()
    make = partial(
        athena.chat,
        conversation_id=conversation_id,
        options=athena.options.but(spelling=False) if verbatim else None,
        persona=persona,
        user=whose.user(),
        agent=agent_of_conversation(conversation_id),
    )
    engine: Engine = FilesFirst(athena, conversation_id, files, make) if files else make()
    if instead_of:
        engine = Instead(make(), instead_of)
    if begins and not whose.is_kept_here(conversation_id):
        engine = Titled(athena, conversation_id, engine)
    if (
        runner().ask(engine, conversation_id=conversation_id, question=question, in_place_of=instead_of)
        is None
    ):
        if instead_of:
            raise AthenaError(BUSY, "Wait for that answer, then try again.")
        kept(Waiting).questions.insert(0, (question, conversation_id))
