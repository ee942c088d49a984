"""An answer on its way to a client: made in a thread of its own, watched from the event loop, and stopped."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pipeline.steps.events import ChatEvent

WORKERS = 64
"""Answers that are made at once; a search among them waits for its turn (`pipeline/finding/admission.py`)."""
TICK_S = 1.0  # how often a stream looks whether its key still holds

Told = TypeVar("Told")
Work = Callable[[threading.Event], Iterator[Told]]
"""Starts what tells of its work, and ends early where the event is set."""
Run = Work[ChatEvent]
"""Starts an answer."""

_workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="door")


async def told_by(work: Work[Told], stop: threading.Event) -> AsyncGenerator[list[Told], None]:
    """What a work in a thread tells, all that has come since the last at once; nothing after a quiet second.

    Whoever leaves early, or sets `stop`, stops it: what there was of an answer is kept as the chat keeps it.
    Each time that something comes, the event loop wakes up, and waits for a processor among the threads that
    make answers: tell only what a client is told, as it is told.
    """
    loop = asyncio.get_running_loop()
    arrived: deque[Told] = deque()
    some = asyncio.Event()

    def listen() -> None:
        for piece in work(stop):
            arrived.append(piece)
            if len(arrived) == 1:  # else the loop was woken, and has not taken them yet
                with suppress(RuntimeError):  # the server has stopped: nobody listens any more
                    loop.call_soon_threadsafe(some.set)

    working = loop.run_in_executor(_workers, listen)
    working.add_done_callback(lambda _: some.set())
    try:
        while True:
            ended = working.done()
            some.clear()
            told: list[Told] = []
            while arrived:  # asked anew each time: one that comes meanwhile wakes nobody
                told.append(arrived.popleft())
            if told:
                yield told
            elif ended:
                break
            else:
                try:
                    await asyncio.wait_for(some.wait(), TICK_S)
                except TimeoutError:
                    yield []
        await working
    finally:
        stop.set()


async def stop_with(request: Request, stop: threading.Event) -> None:
    """Set `stop` when the client hangs up; to be cancelled where it does not."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    stop.set()


class EventStream(StreamingResponse):
    """Server-sent events that set `stop` as soon as nobody reads them."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[str], *, stop: threading.Event, **given: Any) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(content, headers=headers, **given)
        self._stop = stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._stop.set()
