"""MCP over Streamable HTTP: stateless, and answered as JSON. Who calls, the way in has found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from athena.tools.tool import Caller
from doors.mcp.server import Context, make_server
from doors.refusals import MCP, Refusal, refused

if TYPE_CHECKING:
    from athena import Athena

NOT_ALLOWED = 405
GONE: Message = {"type": "http.disconnect"}
ONLY_POST = "MCP is spoken here by POST alone."
SENT_ALONE = "Send one request at a time: there are no sessions."


class McpDoor:
    """The ASGI app at `MCP`, as long as its lifespan is entered."""

    def __init__(self, athena: Callable[[], Athena], *, page: bool) -> None:
        self._server = make_server(athena, _caller_of, page=page)
        self._answer: StreamableHTTPASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; what is stateless has nothing to tell unasked, and no session to end."""
        if scope["method"] != "POST":
            refusal = refused(Refusal(NOT_ALLOWED, ONLY_POST, SENT_ALONE), at=MCP)
            refusal.headers["Allow"] = "POST"
            await refusal(scope, receive, send)
            return
        assert self._answer is not None, "the lifespan is not entered"  # noqa: S101
        messages = iter([await receive()])  # the way in has read all of the body

        async def replayed() -> Message:
            message = next(messages, GONE)
            if message is GONE:  # which is heard below
                await anyio.sleep_forever()
            return message

        async with anyio.create_task_group() as group:
            group.start_soon(_leave_with_client, receive, group.cancel_scope)
            await self._answer(scope, replayed, send)
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """While it is served."""
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            self._answer = StreamableHTTPASGIApp(manager)
            yield


async def _leave_with_client(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel what is being done for a client that hangs up; the SDK would go on."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _caller_of(context: Context) -> Caller:
    request: Request = context.request  # type: ignore[assignment]  # of HTTP, there is one
    caller: Caller = request.state.caller
    return caller
