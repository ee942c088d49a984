"""An answer while it is made, for programs: its events, its text as it arrives, and the whole at the end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from pipeline.answer import Answer
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, SentencesCited

if TYPE_CHECKING:
    from types import TracebackType

Run: TypeAlias = Callable[[threading.Event], Iterator[ChatEvent]]
"""Begins an answer that ends early where the event is set."""


class AnswerStream(Iterator[ChatEvent]):
    """Iterate over it for the events, or over `texts` for the text; nothing is asked before.

    `close`, or the end of a `with`, stops the answer in its middle; what there was of it is kept.
    """

    def __init__(self, run: Run, shown: Callable[[Answer], Answer]) -> None:
        self.stop = threading.Event()
        self._shown = shown
        self._sent = ""
        self._last: AnswerFinished | RunFailed | None = None
        self._events = self._watched(run)

    def __iter__(self) -> Iterator[ChatEvent]:
        return self

    def __next__(self) -> ChatEvent:
        return next(self._events)

    def __enter__(self) -> AnswerStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the answer, unless it is complete."""
        self.stop.set()
        self._events.close()

    def texts(self) -> Iterator[str]:
        """The text with its citations, sentence by sentence; quotes come in one piece.

        Raises the `AthenaError` that ended it.
        """
        for event in self:
            yield from self.text_of(event)

    def text_of(self, event: ChatEvent) -> Iterator[str]:
        """The text that an event brings, if any; raises what a failure says."""
        match event:
            case SentencesCited(text=text) | AnswerFinished(answer=Answer(text=text)):
                new, self._sent = text.removeprefix(self._sent), text
                if new:
                    yield new
            case RunFailed() as failed:
                raise _error_of(failed)

    @property
    def answer(self) -> Answer:
        """The whole answer, waited for where it is not there yet; raises the `AthenaError` that ended it."""
        for _ in self:
            pass
        if isinstance(self._last, AnswerFinished):
            return self._last.answer
        if self._last is not None:
            raise _error_of(self._last)
        raise AthenaError("The answer was stopped.", "Ask again.")

    def _watched(self, run: Run) -> Generator[ChatEvent, None, None]:
        for event in run(self.stop):
            match event:
                case AnswerFinished(answer=answer):
                    event = self._last = replace(event, answer=self._shown(answer))
                case RunFailed():
                    self._last = event
            yield event


class AsyncAnswerStream(AsyncIterator[ChatEvent]):
    """The same for `async for`; the work is done in a thread, and ends where the task is cancelled."""

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._events = self._arriving()

    def __aiter__(self) -> AsyncIterator[ChatEvent]:
        return self

    async def __anext__(self) -> ChatEvent:
        return await anext(self._events)

    async def __aenter__(self) -> AsyncAnswerStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the answer, unless it is complete."""
        await self._events.aclose()

    async def texts(self) -> AsyncIterator[str]:
        """The text as it arrives; quotes come in one piece. Raises the `AthenaError` that ended it."""
        async with aclosing(self._events) as events:
            async for event in events:
                for text in self._stream.text_of(event):
                    yield text

    async def answer(self) -> Answer:
        """The whole answer; raises the `AthenaError` that ended it."""
        async for _ in self:
            pass
        return self._stream.answer

    async def _arriving(self) -> AsyncGenerator[ChatEvent, None]:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[ChatEvent | None] = asyncio.Queue()

        def work() -> None:
            try:
                for event in self._stream:
                    loop.call_soon_threadsafe(arrived.put_nowait, event)
            finally:
                loop.call_soon_threadsafe(arrived.put_nowait, None)

        # A thread of its own: the loop's few would let others wait while models write.
        pool = ThreadPoolExecutor(1, thread_name_prefix="athena-answer")
        working = loop.run_in_executor(pool, contextvars.copy_context().run, work)
        pool.shutdown(wait=False)
        try:
            while (event := await arrived.get()) is not None:
                yield event
            await working  # raises what else ended it
        finally:
            self._stream.stop.set()
            await asyncio.wait([working])


def _error_of(failed: RunFailed) -> AthenaError:
    return failed.error or AthenaError(failed.message, failed.fix)
