"""The events of a run, for pages, the command line, the API and the evaluation; and its trace of steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic_core import to_jsonable_python

from pipeline.errors import AthenaError
from pipeline.steps.records import LABELS, Step

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Retrieval, Support

Outcome = TypeVar("Outcome")
KEPT_RANKS = 30  # per list: all ranks took 100 kB an answer; `pipeline/finding/why.py` searches again for all


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step has begun; the page shows `text` while it runs ("Searching 4,210 sentences")."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step has ended."""

    step: Step


@dataclass(frozen=True, slots=True)
class SourcesFound:
    """The search has ended: the passages that the answer will rest on."""

    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class TokenArrived:
    """The next piece of the answer's text as the model writes it; `SentencesCited` replaces it soon after."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtArrived:
    """The next piece of the model's thoughts, which are not part of the answer and are not verified."""

    text: str


@dataclass(frozen=True, slots=True)
class SentencesCited:
    """The answer so far: `text` is final and has its citations; `pending` is unverified text after it.

    Citations are numbered in order of appearance, and do not change in later events.
    """

    text: str
    pending: str
    citations: tuple[Citation, ...]
    support: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class AnswerFinished:
    """The complete answer with verified citations: the last event of a run that succeeded."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The last event of a run that failed.

    `partial` is the text received before the error, `answer` the turn, even if it could not be stored.
    """

    error: AthenaError
    partial: str = ""
    answer: Answer | None = None


ChatEvent = (
    StepStarted
    | StepFinished
    | SourcesFound
    | ThoughtArrived
    | TokenArrived
    | SentencesCited
    | AnswerFinished
    | RunFailed
)

Emit: TypeAlias = Callable[[ChatEvent], None]
"""A function that is called with each event of a run as it happens."""


def streamed(
    work: Callable[[Emit], Outcome], *, stop: threading.Event | None = None
) -> Generator[ChatEvent, None, Outcome]:
    """Run `work` in a thread and yield the events that it emits; return its result or raise its exception.

    The thread has a copy of the caller's context variables. Closing or interrupting the generator early sets
    `stop` and waits for the thread to end.
    """
    events: SimpleQueue[ChatEvent | None] = SimpleQueue()
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(copy_context().run, work, events.put)
        future.add_done_callback(lambda _: events.put(None))
        try:
            while (event := events.get()) is not None:
                yield event
        except BaseException:
            if stop is not None:
                stop.set()
            raise
        return future.result()


class Trace:
    """The steps of one run, in the order in which they ended.

    A search keeps the first `ranks` of each ranking (None: all). All start times are based on one reading of
    the wall clock, so that setting the clock during a run does not move a step.
    """

    def __init__(self, emit: Emit | None = None, ranks: int | None = KEPT_RANKS) -> None:
        self.steps: list[Step] = []
        self.started_at = time.time()  # Unix seconds
        self._started = time.perf_counter()
        self._emit = emit or (lambda _: None)
        self.ranks = ranks

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._started

    @contextmanager
    def step(self, name: str, /, **data: Any) -> Iterator[Step]:
        """Record the block as a step that starts with `data`; if it raises, mark the step as failed."""
        step, started = Step(name, data=data), time.perf_counter()
        step.started_at = self.started_at + started - self._started
        self._emit(StepStarted(name, LABELS[name].format_map(data)))
        try:
            yield step
        except BaseException as error:
            step.fail(str(error) or type(error).__name__)
            raise
        finally:
            step.ms = (time.perf_counter() - started) * 1000
            step.data = to_jsonable_python(step.data)
            self.steps.append(step)
            self._emit(StepFinished(step))
