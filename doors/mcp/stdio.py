"""MCP over standard input and output: one client, which is the user of the settings."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import closing

import anyio
from anyio.abc import ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from athena import Settings, open_athena
from doors.keys import local_caller
from doors.mcp.server import make_server

NO_MESSAGE = {
    PARSE_ERROR: "This line is not JSON. Send one JSON-RPC message a line, in UTF-8.",
    INVALID_REQUEST: "This line is no message of JSON-RPC 2.0. Send one a line, and no batches.",
}


def serve(settings: Settings) -> None:
    """Answer on standard output what comes on standard input, until that ends."""
    # Python's own handler would wait for the thread that reads standard input.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with closing(open_athena(settings)) as athena:
        server = make_server(lambda: athena, lambda _: local_caller(settings))

        async def answer() -> None:
            messages, passed = anyio.create_memory_object_stream[SessionMessage | Exception]()
            async with passed, stdio_server() as (reading, writing), anyio.create_task_group() as group:
                group.start_soon(_relay, reading, writing.send, messages)
                await server.run(passed, writing, server.create_initialization_options())

        anyio.run(answer)


async def _relay(
    reading: AsyncIterable[SessionMessage | Exception],
    send: Callable[[SessionMessage], Awaitable[None]],
    messages: ObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass on what can be read, and answer what cannot, of which the SDK says nothing."""
    async with messages:
        async for item in reading:
            if isinstance(item, ValidationError):
                code = PARSE_ERROR if item.errors()[0]["type"] == "json_invalid" else INVALID_REQUEST
                error = ErrorData(code=code, message=NO_MESSAGE[code])
                await send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
            else:
                await messages.send(item)
