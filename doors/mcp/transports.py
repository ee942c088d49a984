"""The MCP server over Streamable HTTP, and over standard input and output."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from athena import Settings, open_athena
from doors.access import Caller, caller_of
from doors.mcp.server import make_server

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from athena import Athena


class McpEndpoint:
    """The ASGI app at `/mcp`, stateless and answered as JSON; enter `running` while it is served."""

    def __init__(self, athena: Callable[[], Athena]) -> None:
        self._athena = athena
        self._server = make_server(athena, _caller_of_request)
        self._app = self._server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            # The app around this one checks the host.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the SDK's session manager."""
        async with self._server.session_manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a caller who may read; raises `NoKey` and `NotAllowed`."""
        caller = await run_in_threadpool(caller_of, self._athena(), Request(scope))
        caller.require("read")
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def _caller_of_request(context: Context) -> Caller:
    request = context.request_context.request
    assert isinstance(request, Request)  # noqa: S101  (over HTTP there is one)
    caller: Caller = request.state.caller
    return caller


def serve_stdio(settings: Settings) -> None:
    """Serve one client over standard input and output, as the user of the settings, until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler waits for the reading thread
    with closing(open_athena(settings)) as athena:
        make_server(lambda: athena, lambda _: Caller(settings.user)).run("stdio")
