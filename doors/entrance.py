"""The way in: whose key a request has, how many it may send, how large it is and how long that may take."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from athena.tools.tool import Caller
from doors.keys import caller_of
from doors.refusals import Refusal, refused
from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from athena import Athena

MINUTE_S = 60.0
MAX_MB = 1.0  # of a body
PATIENCE_S = 20.0  # for a whole request
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Uses:
    """What one caller has sent in the last minute, and what is still being answered."""

    sent: deque[float] = field(default_factory=deque)
    open: int = 0


class Limits:
    """How much each caller may use the doors; for the one thread of an event loop."""

    def __init__(self, *, a_minute: int, at_once: int) -> None:
        self._a_minute = a_minute
        self._at_once = at_once
        self._uses: defaultdict[str, Uses] = defaultdict(Uses)

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """One request's place; raises `Refusal` where there is none."""
        uses, now = self._uses[caller.key_id], time.monotonic()
        while uses.sent and now - uses.sent[0] >= MINUTE_S:
            uses.sent.popleft()
        if len(uses.sent) >= self._a_minute:
            wait = math.ceil(MINUTE_S - (now - uses.sent[0]))
            raise Refusal(
                429,
                f"This is more than {self._a_minute} requests in a minute.",
                f"Wait {wait} s.",
                retry_s=wait,
            )
        if uses.open >= self._at_once:
            raise Refusal(
                429,
                f"{self._at_once} requests are being answered already.",
                "Wait for one to end.",
                retry_s=1,
            )
        uses.sent.append(now)
        uses.open += 1
        try:
            yield
        finally:
            uses.open -= 1


class Entrance:
    """An ASGI app around another one that serves callers: it finds `request.state.caller`, and a body.

    `limits` are shared by the doors of one process.
    """

    def __init__(self, app: ASGIApp, *, athena: Callable[[], Athena], limits: Limits) -> None:
        self._app = app
        self._athena = athena
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a caller in, or say why not."""
        try:
            caller = await run_in_threadpool(self._caller, scope)
            with self._limits.place(caller):
                body = await self._body(scope, receive)
                known = {**scope, "state": {**scope.get("state", {}), "caller": caller}}
                await self._app(known, _replayed(body, receive), send)
        except AthenaError as error:
            await refused(error, at=scope["path"])(scope, receive, send)

    def _caller(self, scope: Scope) -> Caller:
        athena = self._athena()
        client = scope.get("client")
        return caller_of(
            athena.keys,
            athena.settings,
            headers=dict(Headers(scope=scope)),
            client=client[0] if client else None,
        )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """All of the body; raises `Refusal` where it is too large, or does not come."""
        most = int(MAX_MB * MEGABYTE)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise _too_large(MAX_MB)
        body = bytearray()
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise _too_large(MAX_MB)
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as error:
            raise Refusal(
                408,
                f"The request did not come within {PATIENCE_S:g} s.",
                "Send it faster.",
            ) from error


def _too_large(most_mb: float) -> Refusal:
    return Refusal(
        413,
        f"The request is larger than {most_mb:g} MB.",
        "Send less.",
    )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What the app receives: the body, which was read already, then what else the client sends."""
    first = True

    async def replay() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay
