"""How many windows are served at once: each holds files of the system, of which a process has a number.

Beyond it nothing could be opened any more, for anybody. So the number is raised as far as the system lets us,
windows beyond what it allows are told so, what a closed one held is let go, and a repeated error is logged
once a minute.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Container
from contextlib import asynccontextmanager, suppress
from typing import Any

import streamlit
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

WANTED = (65_536, 10_240)  # files; macOS takes no more than the second
RESERVED = 640  # for the store, and for 128 windows that Streamlit keeps for two minutes after they were left
A_WINDOW = 6  # files: its connection, its event loop, and what it asks for
MOST = 2_000
LEAST = 16
EVERY = 60.0  # seconds
TRY_AGAIN_LATER = 1013  # RFC 6455's registry of close codes
FULL = "Athena has as many windows open as it can serve. Close one, or try again in two minutes."
NOISY = ("asyncio", "uvicorn.error")


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows it, within reason."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in WANTED:
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if soft != resource.RLIM_INFINITY and wanted > soft:
            with suppress(ValueError, OSError):  # it is more than this system takes
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                return


def most_windows() -> int:
    """How many windows may be open, by the number of files that this process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else MOST * A_WINDOW
    files = WANTED[0] if resource and soft == resource.RLIM_INFINITY else soft
    return max(LEAST, min(MOST, (files - RESERVED) // A_WINDOW))


class WindowLimit:
    """An ASGI middleware that serves so many WebSockets, and says so to others and on the pages."""

    def __init__(self, app: ASGIApp, *, most: int, pages: Container[str]) -> None:
        self._app = app
        self._most = most
        self._pages = pages
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what there is room for."""
        full = self._open >= self._most
        if scope["type"] == "websocket":
            if full:
                await WebSocketClose(TRY_AGAIN_LATER, FULL)(scope, receive, send)
                return
            self._open += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._open -= 1
        elif scope["type"] == "http" and full and scope["path"] in self._pages:
            await PlainTextResponse(FULL, status_code=503)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


class OnceAMinute(logging.Filter):
    """Lets each warning or error pass once a minute, by its words and place."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, int, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it was not logged in this minute."""
        if record.levelno < logging.WARNING:
            return True
        now, said = time.monotonic(), (record.name, record.levelno, str(record.msg)[:100])
        if now - self._logged.get(said, -EVERY) < EVERY:
            return False
        if len(self._logged) >= MOST:
            self._logged.clear()
        self._logged[said] = now
        return True


@asynccontextmanager
async def letting_go() -> AsyncIterator[None]:
    """While it lasts, what left windows held is let go every minute, and an error is logged as often."""
    quiet = OnceAMinute()
    for name in NOISY:
        logging.getLogger(name).addFilter(quiet)
    task = asyncio.create_task(_let_go())
    try:
        yield
    finally:
        task.cancel()
        for name in NOISY:
            logging.getLogger(name).removeFilter(quiet)


async def _let_go() -> None:
    while True:
        await asyncio.sleep(EVERY)
        drop_left_sessions()


def drop_left_sessions() -> None:
    """Drop the sessions that nobody came back to: Streamlit looks for them only when another one is left."""
    if streamlit.runtime.exists():
        manager: Any = streamlit.runtime.get_instance()._session_mgr
        if manager._session_storage._cache.expire():  # nothing public does it
            gc.collect()  # sessions hold themselves in circles, and an event loop each
