"""An MCP server that tests start: over standard input, or with `http PORT` over Streamable HTTP."""

from __future__ import annotations

import os
import sys
import time

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("tests")


@server.tool()
def add(first: int, second: int) -> str:
    """Add two numbers."""
    return f"{first + second} parts"


@server.tool()
def die() -> str:
    """End in the middle of the call."""
    os._exit(3)


@server.tool()
def order(part: str) -> str:
    """Order a part."""
    return f"ordered {part}"


@server.tool()
def given(context: Context) -> str:
    """Return the key of the request."""
    return f"asked with {(context.headers or {}).get('authorization')}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", port=int(port))
        case ["slow"]:
            time.sleep(30)
    server.run("stdio")
