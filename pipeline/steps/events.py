"""The events of a run: the page, the command line and the evaluation all watch the same ones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from pipeline.answer import Answer, Retrieval
    from pipeline.steps.records import Step

Outcome = TypeVar("Outcome")


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

    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class TokenArrived:
    """The next piece of the answer's text, citation markers included."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerFinished:
    """The whole answer, with verified citations: the last event of a run that went well."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended early: the last event of a run that did not go well.

    `partial` is the text that had arrived, `error` what was raised: callers that want an exception raise it.
    `answer` is the turn as it was kept, or would have been.
    """

    message: str
    fix: str
    partial: str = ""
    error: AthenaError | None = field(default=None, compare=False)
    answer: Answer | None = field(default=None, compare=False)


ChatEvent = StepStarted | StepFinished | SourcesFound | TokenArrived | AnswerFinished | RunFailed

Events: TypeAlias = Generator[ChatEvent, None, Outcome]
"""Events while the work goes on, and what came out of it at the end (`outcome = yield from …`)."""

Emit: TypeAlias = Callable[[ChatEvent], None]
"""Takes the events of a run as they happen."""


def streamed(work: Callable[[Emit], Outcome]) -> Events[Outcome]:
    """Yield the events that `work` emits while a thread does it; return its outcome, or raise its exception.

    The thread has a copy of the caller's context variables, and ends before the generator does.
    """
    events: SimpleQueue[ChatEvent | None] = SimpleQueue()
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(copy_context().run, work, events.put)
        future.add_done_callback(lambda _: events.put(None))
        while (event := events.get()) is not None:
            yield event
        return future.result()


def outcome(events: Events[Outcome]) -> Outcome:
    """What comes out of the work, for callers who do not watch it."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
