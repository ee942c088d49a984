"""Answers being written: each in a thread of its own, into a buffer that outlives clicks and pages.

Streamlit reruns the page at every click, which would end a stream that ran in it. A `Run` collects the events
instead, and any session may look at its `snapshot` at any time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import streamlit as st

from pipeline.answer import Answer, Citation, Passage, Support
from pipeline.errors import AthenaError
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

log = logging.getLogger(__name__)

UNEXPECTED = RunFailed(
    "The answer ended unexpectedly.", "Ask again; the terminal that runs Athena shows what happened."
)

ENDED_KEPT = 20
"""Runs that ended and are kept, for the pages that still show them; the turns themselves are stored."""


class Engine(Protocol):
    """What answers: `pipeline.chat.ChatRecipe`, or a fake."""

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of one answer."""


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """One moment of a run, safe to keep."""

    question: str
    working: bool = True
    stopping: bool = False
    step: str = ""  # what it does now, in words; "" between steps
    text: str = ""
    thoughts: str = ""
    found: tuple[Passage, ...] = ()  # shown while the answer is written
    citations: tuple[Citation, ...] = ()  # of the sentences that are complete
    support: tuple[Support, ...] = ()
    answer: Answer | None = None
    failure: RunFailed | None = None
    steps: tuple[Step, ...] = ()  # of an agent


class Run:
    """One question on its way to an answer."""

    def __init__(self, question: str, *, in_place_of: str = "") -> None:
        self.question = question
        self.in_place_of = in_place_of  # id of the turn that gets another version; "" = none
        self.started = time.time()  # seconds since the epoch
        self.stop = threading.Event()
        self._done = threading.Event()
        self._now = RunSnapshot(question)  # written by the run's thread alone

    def start(self, engine: Engine) -> None:
        """Begin, in a thread that ends with the process."""
        threading.Thread(target=self._work, args=(engine,), name="answer", daemon=True).start()

    def _work(self, engine: Engine) -> None:
        try:
            for event in engine.run(self.question, stop=self.stop):
                self._now = _after(event, self._now)
        except AthenaError as error:
            log.warning("answer failed: %s", error)
            self._now = replace(self._now, failure=RunFailed(error.problem, error.fix, self._now.text, error))
        finally:  # also after an unexpected error, which goes on to the log
            ended = self._now.answer or self._now.failure or self.stop.is_set()
            self._now = replace(self._now, step="", failure=self._now.failure if ended else UNEXPECTED)
            self._done.set()

    def snapshot(self) -> RunSnapshot:
        """What there is so far."""
        working = self.working
        return replace(self._now, working=working, stopping=working and self.stop.is_set())

    @property
    def working(self) -> bool:
        """True until the last event has arrived."""
        return not self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False where it did not come in time."""
        return self._done.wait(seconds)


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
    """The runs of this process: the latest of each conversation, while it works and a while after."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def ask(
        self, engine: Engine, *, conversation_id: str, question: str, in_place_of: str = ""
    ) -> Run | None:
        """Start answering; None where another answer is still being written in that conversation."""
        with self._lock:
            running = self._runs.pop(conversation_id, None)
            if running and running.working:
                self._runs[conversation_id] = running
                return None
            run = self._runs[conversation_id] = Run(question, in_place_of=in_place_of)
            self._drop_ended()
        run.start(engine)
        return run

    def _drop_ended(self) -> None:
        ended = [conversation for conversation, run in self._runs.items() if not run.working]
        for conversation in ended[:-ENDED_KEPT]:
            del self._runs[conversation]

    def of(self, conversation_id: str) -> Run | None:
        """The latest run of a conversation; None also where it ended long ago."""
        return self._runs.get(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """Stop and drop the run of a conversation, which was deleted."""
        with self._lock:
            run = self._runs.pop(conversation_id, None)
        if run:
            run.stop.set()


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """The runs of all sessions: a reloaded page finds its own again."""
    return Runner()
