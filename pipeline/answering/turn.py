"""One turn of a chat while it runs: what is known of it so far, and who hears of each step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.answer import Answer, Passage, Retrieval
from pipeline.messages import Message
from pipeline.steps.events import ChatEvent, RunningStep, Step, StepFinished, StepStarted, Trace

WORKING = {
    "condense": "Reading the conversation",
    "hyde": "Writing a hypothetical answer",
    "wait": "Waiting for other searches",
    "embed": "Embedding the question",
    "search": "Searching {sentences:,} sentences",
    "fuse": "Fusing the rankings",
    "merge": "Merging sentences into sections",
    "rerank": "Reranking",
    "answerable": "Judging whether this answers it",
    "select": "Selecting passages",
    "prompt": "Writing the prompt",
    "generate": "Writing the answer",
    "quote": "Choosing quotes",
    "verify": "Checking the citations",
}


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """One turn when it is over, however it ended: for who keeps an eye on turns."""

    answer: Answer
    steps: tuple[Step, ...]
    passages: tuple[Passage, ...]  # none where it ended before they were found
    generated: str  # what a model wrote, before its citations were resolved
    model: str  # that was connected, also where the answer is quotes in the end; "" = none
    started_at: float  # Unix seconds
    seconds: float


OnEnd = Callable[[FinishedTurn], None]


class Turn:
    """One turn while it runs."""

    def __init__(
        self,
        message: str,
        history: list[Message],
        stop: threading.Event,
        emit: Callable[[ChatEvent], None],
        working: Callable[[RunningStep], str],
        model: str,
        settings: dict[str, object],
    ) -> None:
        self.message = message
        self.question = message
        self.history = history
        self.stop = stop
        self.emit = emit
        self.text = ""
        self.turn_id = ""
        self.partial: Answer | None = None  # of a generation that broke off, with its citations
        self.notices: tuple[str, ...] = ()
        self.retrieval: Retrieval
        self.outcome: Answer  # how it ended, also where that could not be stored
        self.file_hashes: dict[str, str] = {}
        self.crash: BaseException | None = None
        self._model = model
        self._settings = settings
        self._started = time.perf_counter()
        self.trace = Trace(
            on_start=lambda step: emit(StepStarted(step.name, working(step))),
            on_finish=lambda step: emit(StepFinished(step)),
        )

    @property
    def finished(self) -> FinishedTurn:
        """All of it, once there is an outcome."""
        retrieval: Retrieval | None = getattr(self, "retrieval", None)
        return FinishedTurn(
            answer=self.outcome,
            steps=tuple(self.trace.steps),
            passages=retrieval.passages if retrieval else (),
            generated=self.text,
            model=self._model,
            started_at=self.trace.started_at,
            seconds=self.trace.seconds,
        )

    def answer(self, **given: Any) -> Answer:
        """The answer as it stands, with what is given on top."""
        known: dict[str, Any] = {
            "question": self.message,
            "condensed_question": self.question,
            "mode": "generate" if self._model else "quote",
            "abstained": False,
            "notices": self.notices,
            "steps": tuple(self.trace.steps),
            "status": "stopped" if self.stop.is_set() else "complete",
            "seconds": time.perf_counter() - self._started,
            "settings": self._settings,
        } | given
        return Answer(model=self._model if known["mode"] == "generate" else "", **known)
