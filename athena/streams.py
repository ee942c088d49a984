"""An answer as a stream, for programs: its events, its text as it arrives, and the complete answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Self, TypeAlias

from pipeline.answer import Answer
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SentencesCited

Run: TypeAlias = Callable[[threading.Event], Iterator[ChatEvent]]
"""Starts an answer and returns its events; the answer ends early once the `threading.Event` is set."""


class AnswerStream:
    """The events of one answer, iterable once; `texts` yields its text. The first step asks the question.

    `close`, or leaving a `with` block, stops the answer; the text that has arrived by then is stored.
    """

    def __init__(self, run: Run, shown: Callable[[Answer], Answer]) -> None:
        self.stop = threading.Event()
        self._last: AnswerFinished | RunFailed | None = None
        self._events = self._kept(run, shown)

    def __iter__(self) -> Iterator[ChatEvent]:
        return self._events

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the answer, unless it is complete."""
        self.stop.set()
        self._events.close()

    def texts(self) -> Iterator[str]:
        """Yield the text with its citations, sentence by sentence; quotes come in one piece.

        Raises the `AthenaError` that ended the answer.
        """
        sent = ""
        for event in self:
            match event:
                case SentencesCited(text=text) | AnswerFinished(answer=Answer(text=text)):
                    yield text[len(sent) :]  # the final text has no blank lines at its end
                    sent = text
                case RunFailed(error=error):
                    raise error

    @property
    def answer(self) -> Answer:
        """The answer, after waiting for its end; raises `AthenaError` if it failed or was closed before."""
        for _ in self:
            pass
        match self._last:
            case AnswerFinished(answer=answer):
                return answer
            case RunFailed(error=error):
                raise error
        raise AthenaError("The answer was stopped.", "Ask again.")

    def _kept(self, run: Run, shown: Callable[[Answer], Answer]) -> Generator[ChatEvent, None, None]:
        """Yield the events, the final answer passed through `shown`; keep the last event."""
        for event in run(self.stop):
            if isinstance(event, AnswerFinished):
                event = replace(event, answer=shown(event.answer))
            if isinstance(event, AnswerFinished | RunFailed):
                self._last = event
            yield event


async def arriving(stream: AnswerStream) -> AsyncGenerator[ChatEvent, None]:
    """Yield a stream's events without blocking the event loop; cancelling the task stops the answer."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[ChatEvent | None] = asyncio.Queue()

    def work() -> None:
        try:
            for event in stream:
                loop.call_soon_threadsafe(arrived.put_nowait, event)
        finally:
            loop.call_soon_threadsafe(arrived.put_nowait, None)

    # Not the event loop's thread pool: slow models there would make other work wait.
    pool = ThreadPoolExecutor(1, thread_name_prefix="athena-answer")
    working = loop.run_in_executor(pool, work)
    pool.shutdown(wait=False)
    try:
        while (event := await arrived.get()) is not None:
            yield event
        await working  # raises the error of the thread
    finally:
        stream.stop.set()
        await asyncio.wait([working])
