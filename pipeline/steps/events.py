"""What a run reports while it works: steps, and the events that a chat yields.

The page, the HTTP API, the command line and the evaluation all watch the same events; nobody measures twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pipeline.errors import AthenaError

StepStatus = Literal["ok", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """One finished step: its name, how long it took, what went in and what came out (JSON-able values)."""

    name: str
    ms: float
    status: StepStatus = "ok"
    detail: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    started_at: float = 0.0  # Unix seconds; 0 = not known, as in turns of older versions


@dataclass(slots=True)
class RunningStep:
    """A step that is still running: fill in what is known, it becomes a `Step` at the end."""

    name: str
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)
    status: StepStatus = "ok"
    detail: str = ""

    def skip(self, why: str) -> None:
        """Mark the step as not done, and say why."""
        self.status, self.detail = "skipped", why

    def fail(self, why: str) -> None:
        """Mark the step as failed although the run goes on, and say why."""
        self.status, self.detail = "failed", why


class Trace:
    """The steps of one run, in order; `on_start` and `on_finish` hear of each as it happens.

    One look at the clock anchors all times, so that a clock that is set meanwhile moves no step.
    """

    def __init__(
        self,
        on_start: Callable[[RunningStep], None] | None = None,
        on_finish: Callable[[Step], None] | None = None,
    ) -> None:
        self.steps: list[Step] = []
        self.started_at = time.time()
        self._started = time.perf_counter()
        self._on_start = on_start
        self._on_finish = on_finish

    @contextmanager
    def step(self, name: str, **inputs: Any) -> Iterator[RunningStep]:
        """Time a block as one step; a block that raises is recorded as failed and raises on."""
        running = RunningStep(name, inputs)
        if self._on_start:
            self._on_start(running)
        started = time.perf_counter()
        try:
            yield running
        except BaseException as error:
            running.fail(str(error) or type(error).__name__)
            raise
        finally:
            self._finish(running, started, time.perf_counter())

    @property
    def seconds(self) -> float:
        """How long ago the run began."""
        return time.perf_counter() - self._started

    def _finish(self, running: RunningStep, started: float, ended: float) -> None:
        step = Step(
            running.name,
            (ended - started) * 1000,
            running.status,
            running.detail,
            running.inputs,
            running.outputs,
            self.started_at + started - self._started,
        )
        self.steps.append(step)
        if self._on_finish:
            self._on_finish(step)


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step has begun; `text` is what the page shows meanwhile ("Searching 4,210 sentences")."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step has ended."""

    step: Step


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """What was retrieved: the context that the answer will rest on."""

    retrieval: Any  # pipeline.retrieve.Retrieval: not named here, so that events import nothing


@dataclass(frozen=True, slots=True)
class TokenArrived:
    """The next piece of the answer's text, citation markers included."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerFinished:
    """The whole answer, with verified citations: the last event of a run that went well."""

    answer: Any  # pipeline.chat.Answer


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended early: the last event of a run that did not go well.

    `partial` is the text that had arrived, `error` what was raised: callers that want an exception raise it.
    """

    message: str
    fix: str
    partial: str = ""
    error: AthenaError | None = field(default=None, compare=False)


ChatEvent = StepStarted | StepFinished | SourcesFound | TokenArrived | AnswerFinished | RunFailed
