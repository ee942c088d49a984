"""Answers that are being written, each in its own thread.

Streamlit runs the page again at every click, which would end a stream inside the page. A `Run` therefore
collects the events in a thread, and any session can draw its `snapshot`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import streamlit as st

from pipeline.answer import Answer, Citation, Passage, Support
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    SentencesCited,
    SourcesFound,
    StepFinished,
    StepStarted,
    ThoughtArrived,
    TokenArrived,
)
from pipeline.steps.records import Step
from ui.shared.jobs import Work

ENDED_KEPT = 20
"""Ended runs that are kept for pages that still show them; their turns are stored."""


Answering = Callable[[threading.Event], Iterator[ChatEvent]]
"""Yields the events of one answer; it should end once the `threading.Event` that it gets is set."""


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """The state of a run at one moment."""

    question: str
    working: bool = True
    stopping: bool = False
    step: str = ""  # the current step, in words; "" between steps
    text: str = ""
    thoughts: str = ""
    found: tuple[Passage, ...] = ()  # shown while the answer is written
    citations: tuple[Citation, ...] = ()  # of the complete sentences
    support: tuple[Support, ...] = ()
    answer: Answer | None = None
    failure: RunFailed | None = None
    steps: tuple[Step, ...] = ()  # the tool calls of an agent


class Run(Work):
    """One question, and the thread that writes its answer."""

    def __init__(self, question: str, *, in_place_of: str = "") -> None:
        super().__init__(question)
        self.question = question
        self.in_place_of = in_place_of  # id of the turn that gets another version; "" = none
        self.started = time.time()  # seconds since the epoch
        self._now = RunSnapshot(question)  # written by the run's thread alone

    @property
    def working(self) -> bool:
        """Whether the answer is being written."""
        return super().working and self._now.answer is None

    @property
    def naming(self) -> bool:
        """Whether the answer is written, and the model is writing a title for the conversation."""
        return super().working and self._now.answer is not None

    def answer(self, answer: Answering) -> None:
        """Collect the events of `answer` in a thread."""

        def work() -> None:
            for event in answer(self.stop):
                self._now = _after(event, self._now)

        self.start(work)

    def snapshot(self) -> RunSnapshot:
        """Return the state so far; `failure` is set, too, if the thread ended with an error."""
        working, now, error = self.working, self._now, self.error
        if not working and error and not (now.answer or now.failure or self.stop.is_set()):
            now = replace(now, failure=RunFailed(error, now.text))
        step = now.step if working else ""
        return replace(now, step=step, working=working, stopping=working and self.stop.is_set())


def _after(event: ChatEvent, now: RunSnapshot) -> RunSnapshot:
    match event:
        case StepStarted(text=text):
            return replace(now, step=text)
        case StepFinished(step=step) if step.name == "tool":
            return replace(now, step="", steps=(*now.steps, step))
        case StepFinished():
            return replace(now, step="")
        case TokenArrived(text=text):
            return replace(now, text=now.text + text)
        case SourcesFound(retrieval=retrieval):
            return replace(now, found=retrieval.passages)
        case ThoughtArrived(text=text):
            return replace(now, thoughts=now.thoughts + text)
        case SentencesCited(text=text, pending=pending, citations=citations, support=support):
            return replace(now, text=text + pending, citations=citations, support=support)
        case AnswerFinished(answer=answer):
            return replace(now, answer=answer)
        case RunFailed(partial=partial):
            return replace(now, failure=event, text=now.text or partial)
        case _:
            return now


class Runner:
    """The latest run of each conversation: all that work, and the last `ENDED_KEPT` that ended."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def ask(
        self, answer: Answering, *, conversation_id: str, question: str, in_place_of: str = ""
    ) -> Run | None:
        """Start answering; return None if another answer is being written in that conversation."""
        with self._lock:
            running = self._runs.pop(conversation_id, None)
            if running and running.working:
                self._runs[conversation_id] = running
                return None
            run = self._runs[conversation_id] = Run(question, in_place_of=in_place_of)
            self._drop_ended()
        run.answer(answer)
        return run

    def _drop_ended(self) -> None:
        ended = [conversation for conversation, run in self._runs.items() if not run.working]
        for conversation in ended[:-ENDED_KEPT]:
            del self._runs[conversation]

    def of(self, conversation_id: str) -> Run | None:
        """Return the latest run of a conversation, or None; ended runs are dropped after a while."""
        return self._runs.get(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """Stop and drop the run of a deleted conversation."""
        with self._lock:
            run = self._runs.pop(conversation_id, None)
        if run:
            run.stop.set()


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """Return the runs of all sessions, so that a reloaded page finds its own."""
    return Runner()
