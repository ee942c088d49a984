"""Answers being written: each in a thread of its own, into a buffer that outlives clicks and pages.

Streamlit runs the page anew at every click, which would kill a stream that ran in it. A `Run` collects the
events instead; the page looks at its `snapshot` as often as it likes, from whatever session.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.answer import Answer
from pipeline.errors import AthenaError
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    SourcesFound,
    StepFinished,
    StepStarted,
    TokenArrived,
)
from pipeline.steps.records import Step

log = logging.getLogger(__name__)

UNEXPECTED = RunFailed(
    "The answer ended unexpectedly.", "Ask again; the terminal that runs Athena shows what happened."
)


class Engine(Protocol):
    """What answers: `pipeline.chat.ChatRecipe`, or a fake."""

    def run(self, message: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Yield the events of one answer."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment of a run, safe to keep."""

    question: str
    working: bool
    stopping: bool
    step: str  # what it does now, in words; "" between steps
    steps: tuple[Step, ...]
    text: str
    passages: int | None
    answer: Answer | None
    failure: RunFailed | None


@dataclass
class Run:
    """One question on its way to an answer."""

    conversation_id: str
    question: str
    stop: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.time)  # seconds since the epoch

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: list[str] = []
        self._steps: list[Step] = []
        self._step = ""
        self._passages: int | None = None
        self._answer: Answer | None = None
        self._failure: RunFailed | None = None
        self._thread: threading.Thread | None = None
        self._done = threading.Event()

    def start(self, engine: Engine) -> None:
        """Begin, in a thread that ends with the process."""
        self._thread = threading.Thread(target=self._work, args=(engine,), name="answer", daemon=True)
        self._thread.start()

    def _work(self, engine: Engine) -> None:
        try:
            for event in engine.run(self.question, stop=self.stop):
                self._take(event)
        except AthenaError as error:
            log.warning("answer failed: %s", error)
            self._take(RunFailed(error.problem, error.fix, "".join(self._pieces), error))
        finally:  # also when something else was raised, which then reaches the log as it should
            with self._lock:
                self._step = ""
                if self._answer is None and self._failure is None and not self.stop.is_set():
                    self._failure = UNEXPECTED
            self._done.set()

    def _take(self, event: ChatEvent) -> None:
        with self._lock:
            match event:
                case StepStarted(text=text):
                    self._step = text
                case StepFinished(step=step):
                    self._steps.append(step)
                    self._step = ""
                case SourcesFound(retrieval=retrieval):
                    self._passages = len(retrieval.passages)
                case TokenArrived(text=text):
                    self._pieces.append(text)
                case AnswerFinished(answer=answer):
                    self._answer = answer
                case RunFailed():
                    self._failure = event

    def snapshot(self) -> Snapshot:
        """What there is so far."""
        with self._lock:
            return Snapshot(
                question=self.question,
                working=not self._done.is_set(),
                stopping=self.stop.is_set() and not self._done.is_set(),
                step=self._step,
                steps=tuple(self._steps),
                text="".join(self._pieces) or (self._failure.partial if self._failure else ""),
                passages=self._passages,
                answer=self._answer,
                failure=self._failure,
            )

    @property
    def working(self) -> bool:
        """True until the last event has arrived."""
        return not self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False where it did not come in time."""
        return self._done.wait(seconds)


class Runner:
    """The runs of this process, the latest of each conversation."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def ask(self, engine: Engine, *, conversation_id: str, question: str) -> Run:
        """Start answering; a conversation that is still being answered keeps its run."""
        with self._lock:
            running = self._runs.get(conversation_id)
            if running and running.working:
                return running
            run = self._runs[conversation_id] = Run(conversation_id, question)
        run.start(engine)
        return run

    def of(self, conversation_id: str) -> Run | None:
        """The latest run of a conversation."""
        return self._runs.get(conversation_id)

    def forget(self, conversation_id: str) -> None:
        """Stop and drop a conversation's run: it was deleted, or what it came to is stored."""
        with self._lock:
            run = self._runs.pop(conversation_id, None)
        if run:
            run.stop.set()
