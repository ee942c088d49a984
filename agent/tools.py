"""The tools of an agent: functions of a program, and the tools of the user's MCP servers."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.tools import FunctionTool, ToolMetadata
from pydantic import BaseModel, Field, ValidationError

from pipeline.errors import AthenaError, ConfigurationError, extra_for
from pipeline.redaction import hide, redacted
from pipeline.words import well_formed

if TYPE_CHECKING:
    from pipeline.steps.records import ToolKind

MOST_CHARACTERS = 20_000  # of a result
CONNECT_S = 10  # how long a run waits for an MCP server to list its tools
AGAIN_S = 60.0  # until a server that failed is asked again; meanwhile no question waits for it


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool that a model may call; if it `writes`, the user is asked before each call."""

    function: FunctionTool
    kind: ToolKind = "tool"
    writes: bool = True

    @property
    def name(self) -> str:
        """The name by which a model calls it."""
        return self.function.metadata.get_name()


Consent = Callable[[AgentTool, Mapping[str, Any], threading.Event], bool]
"""Asks the user whether a tool may be called with these arguments; returns early once the event is set."""


def function_tool(function: Callable[..., Any], *, reads: bool = False, kind: ToolKind = "tool") -> AgentTool:
    """Return a function as a tool: its signature is the schema, its docstring is the description."""
    description = " ".join((function.__doc__ or function.__name__).split())
    return AgentTool(FunctionTool.from_defaults(function, description=description), kind, writes=not reads)


def result_text(value: Any) -> str:
    """Return a function's result as text (or JSON) without secrets, cut to 20,000 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return redacted(well_formed(text[: 2 * MOST_CHARACTERS]))[:MOST_CHARACTERS]


class McpServer(BaseModel):
    """One MCP server in the file: a command with arguments, or a URL with headers."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] | None = Field(None, repr=False)
    url: str = Field("", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)


class McpServersFile(BaseModel):
    """The file of ATHENA_MCP_SERVERS, in the form that most clients use."""

    servers: dict[str, McpServer] = Field(alias="mcpServers")


async def connect(
    servers: Mapping[str, McpServer], tools: dict[str, list[AgentTool]], failed: dict[str, tuple[float, str]]
) -> list[str]:
    """Add to `tools` the tools of servers not yet in it; return a notice for each server that failed."""
    now = time.monotonic()
    missing = [name for name in servers if name not in tools and now >= failed.get(name, (0.0, ""))[0]]
    asked = (_tools_of(name, servers[name]) for name in missing)
    for name, found in zip(missing, await asyncio.gather(*asked, return_exceptions=True), strict=True):
        if isinstance(found, BaseException):
            failed[name] = now + AGAIN_S, f"The MCP server '{name}' cannot be used: {_reason(found):.300}."
        else:
            tools[name] = found
    return [failed[name][1] for name in servers if name not in tools]


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def read_servers(path: Path | None) -> dict[str, McpServer]:
    """Return the servers in a file, or {} without a path; raises `ConfigurationError` for a bad file."""
    if path is None:
        return {}
    try:
        servers = McpServersFile.model_validate_json(path.read_text(encoding="utf-8")).servers
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        problem = f"ATHENA_MCP_SERVERS: no MCP servers can be read from '{path}'."
        raise ConfigurationError(problem, "Write it as docs/agent.md shows.") from error
    for server in servers.values():
        sent = ((server.env or {}) | server.headers).items()
        hide({f"{name} key": value.split()[-1] for name, value in sent if value.split()})
        hide({"url": server.url})
    return servers


def _client_of(server: McpServer) -> Any:
    """Return LlamaIndex's client for a server; it opens a new session for each request."""
    with extra_for("An MCP server", "doors"):
        from llama_index.tools.mcp import BasicMCPClient

    address = server.url or server.command
    return BasicMCPClient(address, args=server.args, env=server.env, headers=server.headers)


async def _tools_of(server_name: str, server: McpServer) -> list[AgentTool]:
    """Return a server's tools; raises the SDK's exceptions, and `TimeoutError` after `CONNECT_S`."""
    client = _client_of(server)
    async with asyncio.timeout(CONNECT_S), client.http_client:
        from llama_index.tools.mcp import McpToolSpec

        tools = await McpToolSpec(client).to_tool_list_async()
    return [_tool_of(server_name, server, tool.metadata) for tool in tools]


def _tool_of(server_name: str, server: McpServer, given: ToolMetadata) -> AgentTool:
    """Return a server's tool, named SERVER_TOOL; the user is asked before each call."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server_name}_{given.name}")[:64]

    async def call(**arguments: Any) -> str:
        client = _client_of(server)
        async with client.http_client:
            result = await client.call_tool(given.name, arguments)
        text = "\n".join(getattr(block, "text", f"({block.type})") for block in result.content)
        if result.is_error:
            raise AthenaError(text[:500] or "The tool failed.")
        return text

    metadata = ToolMetadata(given.description or name, name, given.fn_schema)
    return AgentTool(FunctionTool.from_defaults(async_fn=call, tool_metadata=metadata))
