"""The events of a run, which pages, the command line, the API and the evaluation watch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Retrieval, Support
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
    """The search has ended: the passages that the answer will rest on."""

    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class TokenArrived:
    """The next piece of the answer's text as the model writes it; `SentencesCited` replaces it soon after."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtArrived:
    """The next piece of the model's thoughts: no part of the answer, of its citations or of its checks."""

    text: str


@dataclass(frozen=True, slots=True)
class SentencesCited:
    """The answer so far: `text` is final, with its citations, `pending` the raw text of the next sentence.

    Citations are numbered in order of appearance, and never change once they are here.
    """

    text: str
    pending: str
    citations: tuple[Citation, ...]
    support: tuple[Support, ...]


@dataclass(frozen=True, slots=True)
class AnswerFinished:
    """The whole answer, with verified citations: the last event of a run that went well."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run failed: the last event of a run that did not go well.

    `partial` is the text that had arrived, `error` the exception for callers that raise one. `answer` is the
    turn as it was stored, or would have been.
    """

    message: str
    fix: str
    partial: str = ""
    error: AthenaError | None = field(default=None, compare=False)
    answer: Answer | None = field(default=None, compare=False)


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
"""Takes the events of a run as they happen."""


def streamed(
    work: Callable[[Emit], Outcome], *, stop: threading.Event | None = None
) -> Generator[ChatEvent, None, Outcome]:
    """Yield the events that `work` emits while a thread does it; return its outcome, or raise its exception.

    The thread has a copy of the caller's context variables. Closing the generator early, or interrupting it,
    sets `stop` and waits for the thread to end.
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
