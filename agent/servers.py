"""The tools of the user's MCP servers. They are reached in the background: no page waits for a server."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
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
    env: dict[str, str] | None = Field(None, repr=False)
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


@dataclass(frozen=True, slots=True)
class McpServers:
    """The servers by name, and what came of reaching each."""

    given: Mapping[str, McpServer] = field(default_factory=dict)
    reached: dict[str, Future[list[AgentTool]]] = field(default_factory=dict)

    def connect(self, *, wait_s: float = 0.0) -> None:
        """Begin to reach the servers that were not reached yet, and wait for them at most so many seconds."""
        for name, server in self.given.items():
            before = self.reached.get(name)
            if before is None or (before.done() and before.exception()):
                work = _tools_of(name, server)
                self.reached[name] = asyncio.run_coroutine_threadsafe(work, agent_loop())
        wait([*self.reached.values()], timeout=wait_s)

    @property
    def tools(self) -> list[AgentTool]:
        """The tools of the servers that were reached."""
        done = [future for future in self.reached.values() if future.done() and not future.exception()]
        return [tool for future in done for tool in future.result()]

    @property
    def problems(self) -> list[str]:
        """Why other servers were not reached; none for one that is still being reached."""
        return [
            f"The MCP server '{name}' cannot be used: {_reason(error):.300}. Check its entry."
            for name, future in self.reached.items()
            if future.done() and (error := future.exception())
        ]


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ModuleNotFoundError):
        return f"it needs '{error.name}' (pip install 'athena-docs[doors]')"
    return str(error) or type(error).__name__


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
        sent = ((server.env or {}) | server.headers).items()
        hide(
            {f"{name} key": value.split()[-1] for name, value in sent if value.split()} | {"url": server.url}
        )
    return McpServers(servers)


@asynccontextmanager
async def _client_of(server: McpServer) -> AsyncIterator[Any]:
    """Yield LlamaIndex's client of a server; each request of it is a session of its own."""
    from llama_index.tools.mcp import BasicMCPClient

    address = server.url or server.command
    client = BasicMCPClient(address, args=server.args, env=server.env, headers=server.headers)
    try:
        yield client
    finally:
        await client.http_client.aclose()


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
