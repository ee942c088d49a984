"""The tools of the user's MCP servers. They are reached in the background: no page waits for a server."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_jsonable_python

from agent.tools import AgentTool
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.given_files import read_given
from pipeline.redaction import hide

CONNECT_S = 20
MOST_TOOLS = 30  # of a server: a model reads each tool's description before every step
EXAMPLE = '{"mcpServers": {"weather": {"command": "weather-mcp"}, "shop": {"url": "https://…/mcp"}}}'


class McpServer(BaseModel):
    """One server of the file: a command with arguments, or a URL with headers."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    url: str = Field("", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)


class McpServersFile(BaseModel):
    """The file of ATHENA_MCP_SERVERS, in the form that most clients use."""

    servers: dict[str, McpServer] = Field(alias="mcpServers")


@cache
def agent_loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop for agents and MCP servers; a thread of its own runs it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="athena-agent", daemon=True).start()
    return loop


@dataclass
class McpServers:
    """The servers, with the tools of those that were reached; `problems` say why others were not."""

    given: Mapping[str, McpServer] = field(default_factory=dict)
    tools: dict[str, list[AgentTool]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    connecting: dict[str, Future[list[AgentTool]]] = field(default_factory=dict)

    def connect(self, *, wait_s: float = 0.0) -> None:
        """Begin to reach the servers that were not reached yet, and wait for them at most so many seconds."""
        for name, server in self.given.items():
            if name not in self.tools and name not in self.connecting:
                future = asyncio.run_coroutine_threadsafe(_tools_of(name, server), agent_loop())
                self.connecting[name] = future
                future.add_done_callback(partial(self._connected, name))
        wait([*self.connecting.values()], timeout=wait_s)

    def _connected(self, name: str, future: Future[list[AgentTool]]) -> None:
        if error := future.exception():
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            why = str(error) or type(error).__name__
            self.problems[name] = f"The MCP server '{name}' cannot be used: {why:.300}. Check its entry."
        else:
            self.problems.pop(name, None)
            self.tools[name] = future.result()
        self.connecting.pop(name, None)


def read_servers(path: Path | None) -> McpServers:
    """Return the servers of a file, if one is set; raises `ConfigurationError` for another form."""
    if path is None:
        return McpServers()
    try:
        servers = McpServersFile.model_validate_json(read_given(path)).servers
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        problem = f"ATHENA_MCP_SERVERS names '{path}', which has no servers in JSON."
        raise ConfigurationError(problem, f"Write it like this: {EXAMPLE}") from error
    for server in servers.values():
        sent = (server.env | server.headers).items()
        hide(
            {f"{name} key": value.split()[-1] for name, value in sent if value.split()} | {"url": server.url}
        )
    return McpServers(servers)


@asynccontextmanager
async def _client_of(server: McpServer) -> AsyncIterator[Any]:
    """Yield LlamaIndex's client of a server; each request of it is a session of its own."""
    try:
        from llama_index.tools.mcp import BasicMCPClient
        from mcp.shared._httpx_utils import create_mcp_http_client
    except ModuleNotFoundError as error:
        fix = "Install it with: pip install 'athena-docs[doors]'"
        raise ConfigurationError(f"MCP servers need the package '{error.name}'.", fix) from error
    if not server.url:
        yield BasicMCPClient(server.command, args=server.args, env=server.env or None)
        return
    async with create_mcp_http_client(headers=server.headers) as http:
        yield BasicMCPClient(server.url, http_client=http)


async def _tools_of(name: str, server: McpServer) -> list[AgentTool]:
    """Return a server's tools; raises the SDK's exceptions where it is not reached within `CONNECT_S`."""
    async with asyncio.timeout(CONNECT_S), _client_of(server) as client:
        from llama_index.tools.mcp import McpToolSpec

        listed = (await client.list_tools()).tools[:MOST_TOOLS]
        make_model = McpToolSpec(client).create_model_from_json_schema
        return [_as_tool(name, server, tool, make_model(tool.input_schema, tool.name)) for tool in listed]


def _as_tool(server_name: str, server: McpServer, tool: Any, parameters: type[BaseModel]) -> AgentTool:
    """Return a server's tool; the user is asked before a call unless the server says that it only reads."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server_name}_{tool.name}")[:64]
    description = " ".join((tool.description or tool.name).split())[:500]

    async def call(**arguments: Any) -> str:
        async with _client_of(server) as client:
            result = await client.call_tool(tool.name, to_jsonable_python(arguments))
        text = "\n".join(getattr(block, "text", f"({block.type})") for block in result.content)
        if result.is_error:
            raise AthenaError(text[:500] or "The tool failed.")
        return text

    reads = bool(tool.annotations and tool.annotations.read_only_hint)
    return AgentTool(name, description, parameters, call, writes=not reads, origin=server_name)
