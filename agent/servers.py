"""The tools of MCP servers: each is started or reached at its first use, and again later."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from agent.tools import AgentTool, example_of
from athena.tools.tool import Call, Parameters, Tool
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.given_files import read_given
from pipeline.redaction import hide
from pipeline.words import counted

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import Client

START_S = 20.0  # that a server may take to start and list its tools
AGAIN_S = 3.0  # that a run waits for one that could not be had before: it goes on starting meanwhile
CALL_S = 60.0  # an agent's own limit ends a call before
POLL_S = 0.1
MOST_TOOLS = 30  # of a server: a model reads the description of each before every step
MOST_PAGES = 100
LIKE = '{"mcpServers": {"weather": {"command": "weather-mcp", "args": []}, "shop": {"url": "http://…/mcp"}}}'
NO_EXTRA = "MCP servers need a package that is missing.", "Install it with: pip install 'athena-docs[doors]'"
CREDENTIALS = ("authorization", "proxy-authorization", "cookie")  # headers: the last word of one is a secret
TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}


class Given(BaseModel):
    """One server of the file: a command, or a URL; `tools` chooses among what it lists."""

    model_config = ConfigDict(frozen=True)

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    url: str = Field("", repr=False)
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    tools: tuple[str, ...] = ()


class File(BaseModel):
    """The file of `ATHENA_MCP_SERVERS`, in the form that most clients use."""

    servers: dict[str, Given] = Field(alias="mcpServers")


@dataclass(frozen=True, slots=True)
class _Open:
    """A server that is there."""

    client: Client
    tools: Sequence[Any]  # as it lists them


@dataclass(frozen=True, slots=True)
class _Start:
    """A server that is being started, or was."""

    ready: Future[_Open]
    kept: Future[None]  # ends with the server
    begun: float
    patience: float  # seconds that a run waits for it


@dataclass
class Servers:
    """The servers of a file; safe to use from several threads, none of which waits for another's server.

    `problems`: what cannot be used, by name.
    """

    given: Mapping[str, Given] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()  # held for a look, never for a wait
        self._portal: BlockingPortal | None = None
        self._starts: dict[str, _Start] = {}  # begun, and not known to have failed
        self._tools: dict[str, Sequence[AgentTool]] = {}  # of those reached, also if they ended

    @classmethod
    def of(cls, path: Path | None) -> Servers:
        """Those of a file; raises `ConfigurationError` where it cannot be read. Without a file, none."""
        if path is None:
            return cls()
        try:
            servers = File.model_validate_json(read_given(path)).servers
        except (OSError, UnicodeDecodeError, ValidationError) as error:
            why = error.strerror if isinstance(error, OSError) else "it has no JSON of that form"
            raise ConfigurationError(
                f"ATHENA_MCP_SERVERS names '{path}', which names no servers: {why}.",
                f"Write it like this: {LIKE}",
            ) from error
        for given in servers.values():
            hide(_secrets_of(given))
        return cls(servers)

    def tools(self) -> Mapping[str, AgentTool]:
        """The tools of all servers that were reached, as SERVER_TOOL; waits for those never tried before."""
        for name in self.given:
            if name not in self.problems:
                self._begin(name, START_S)
        for name, start in list(self._starts.items()):
            if name not in self._tools:
                self._take(name, start)
        return {tool.tool.name: tool for name in self.given for tool in self._tools.get(name, ())}

    def try_again(self) -> None:
        """Start those that could not be reached before; `tools` waits for them a little."""
        for name in self.given:
            if name in self.problems and name not in self._tools:
                self._begin(name, AGAIN_S)

    def close(self) -> None:
        """End all servers."""
        with self._lock:
            if self._portal is not None:
                self._portal.call(self._portal.stop, True)
            self._starts.clear()
            self._tools.clear()
            self._portal = None

    # -- starting ----------------------------------------------------------------------------------

    def _begin(self, name: str, patience: float) -> _Start:
        """The start of a server, begun by this thread or another."""
        with self._lock:
            if name not in self._starts:
                if self._portal is None:
                    self._portal = _portal()
                ready: Future[_Open] = Future()
                kept = self._portal.start_task_soon(_hold, self.given[name], ready)
                kept.add_done_callback(partial(_ended, ready))
                self._starts[name] = _Start(ready, kept, time.monotonic(), patience)
            return self._starts[name]

    def _take(self, name: str, start: _Start) -> None:
        """Take the tools of a server that is being started, or note why there are none."""
        try:
            server = self._reached(name, start, threading.Event())
        except AthenaError as error:
            self.problems[name] = str(error)
            return
        self.problems.pop(name, None)
        wanted = self.given[name].tools
        listed = [tool for tool in server.tools if not wanted or tool.name in wanted]
        if len(listed) > MOST_TOOLS:
            self.problems[name] = (
                f"'{name}' lists {counted(len(listed), 'tool')}: the first {MOST_TOOLS} are used. "
                'Choose with "tools": [names] in its entry.'
            )
        self._tools[name] = [ours for tool in listed[:MOST_TOOLS] if (ours := self._as_ours(name, tool))]

    def _reached(self, name: str, start: _Start, stop: threading.Event) -> _Open:
        """The server once it is ready; raises `AthenaError` where it is not in time, or ended."""
        while True:
            now = time.monotonic()
            try:
                left = start.begun + start.patience - now
                return start.ready.result(timeout=max(0.0, min(POLL_S, left)))
            except NotInTime as error:
                if left > 0 and not stop.is_set():
                    continue
                if now >= start.begun + START_S:
                    self._drop(name, start)
                late = f"The MCP server '{name}' did not start within {start.patience:.0f} s."
                raise AthenaError(late) from error
            except (CancelledError, ServerEnded) as error:
                self._drop(name, start)
                why = str(error) or "it ended"
                raise AthenaError(
                    f"The MCP server '{name}' cannot be used: {why}.", "Check its entry."
                ) from error

    # -- calling -----------------------------------------------------------------------------------

    def _as_ours(self, name: str, listed: Any) -> AgentTool | None:
        """A tool as an agent has it; None where nobody can tell what it takes, which is then a problem."""
        called = re.sub(r"[^A-Za-z0-9_-]", "_", f"{name}_{listed.name}")[:64]
        try:
            takes = parameters_of(listed.input_schema or {}, called)
        except (TypeError, ValueError) as error:
            self.problems[name] = f"'{name}' does not say what its tool '{listed.name}' takes: {error}."
            return None
        hints = listed.annotations
        return AgentTool(
            Tool(
                name=called,
                title=listed.title or listed.name,
                says=" ".join((listed.description or listed.name).split())[:500],
                takes=takes,
                gives=object,
                run=partial(self._call, name, listed.name),
                example=example_of(takes),
                effect="reads" if hints and hints.read_only_hint else "changes",
            ),
            origin=name,
        )

    def _call(self, name: str, tool: str, call: Call, given: Parameters) -> str:
        """What a tool of a server gives; a server that ended is started again for the next call."""
        start = self._begin(name, START_S)
        server = self._reached(name, start, call.stop)
        assert self._portal is not None  # noqa: S101  (it was started with the server)
        arguments = given.model_dump(by_alias=True, exclude_unset=True)
        task: Future[Any] = self._portal.start_task_soon(
            partial(server.client.call_tool, tool, arguments, read_timeout_seconds=CALL_S)
        )
        while not call.stop.is_set():
            try:
                return _text_of(task.result(timeout=POLL_S))
            except NotInTime:
                continue
            except AthenaError:
                raise
            except Exception as error:
                self._drop(name, start)
                raise AthenaError(
                    f"The MCP server '{name}' failed: {type(error).__name__}: {error}."
                ) from error
        task.cancel()
        return ""

    def _drop(self, name: str, start: _Start) -> None:
        """End a server that failed, unless it was started again meanwhile."""
        with self._lock:
            if self._starts.get(name) is start:
                del self._starts[name]
                start.kept.cancel()


def _portal() -> BlockingPortal:
    """A way into a loop that runs in a thread of its own, which ends with the process."""
    # It logs a traceback for each line that is no message: what a server does wrong is told as its problem.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    try:
        import anyio
        from anyio.from_thread import BlockingPortal
    except ImportError as error:
        raise ConfigurationError(*NO_EXTRA) from error
    begun: Future[BlockingPortal] = Future()

    async def run() -> None:
        async with BlockingPortal() as portal:
            begun.set_result(portal)
            await portal.sleep_until_stopped()

    threading.Thread(target=anyio.run, args=(run,), name="mcp-servers", daemon=True).start()
    return begun.result()


class ServerEnded(Exception):
    """A server ended before it was ready, as `str` says."""


async def _hold(given: Given, ready: Future[_Open]) -> None:
    """Keep a server, once it is ready, until it is closed."""
    import anyio
    from mcp import Client

    async with AsyncExitStack() as held, Client(await _transport(given, held)) as client:
        tools = await _listed(client)
        if ready.set_running_or_notify_cancel():
            ready.set_result(_Open(client, tools))
            await anyio.sleep_forever()


def _secrets_of(given: Given) -> dict[str, str]:
    """What of an entry no text that leaves may have in it, as `hide` takes it."""
    sent = {name.casefold(): value for name, value in given.headers.items()}
    credentials = {
        f"{name} key": sent[name].split()[-1] for name in CREDENTIALS if sent.get(name, "").split()
    }
    return {**given.env, **sent, **credentials, "url": given.url}


async def _transport(given: Given, held: AsyncExitStack) -> Any:
    """The way to a server; what it needs open is `held`."""
    if given.url:
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        http = await held.enter_async_context(create_mcp_http_client(headers=given.headers))
        return streamable_http_client(given.url, http_client=http)
    from mcp import StdioServerParameters

    # Of this process's environment it gets what mcp lets everybody have: the rest has keys in it.
    return StdioServerParameters(command=given.command, args=list(given.args), env=given.env or None)


async def _listed(client: Client) -> list[Any]:
    found, cursor = [], None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return found


def _ended(ready: Future[_Open], task: Future[None]) -> None:
    """Tell whoever waits for a server that it will not be ready."""
    if not ready.done():
        error = None if task.cancelled() else task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        ready.set_exception(ServerEnded(f"{type(error).__name__}: {error}" if error else "it ended"))


def parameters_of(schema: Mapping[str, Any], called: str) -> type[Parameters]:
    """What a tool takes, from its JSON schema: the types of its arguments, and which are needed."""
    needed = set(schema.get("required", ()))
    fields: dict[str, Any] = {}
    for number, (name, known) in enumerate(dict(schema.get("properties") or {}).items()):
        kind = known.get("type") if isinstance(known, dict) else None
        wanted = TYPES.get(kind, Any) if isinstance(kind, str) else Any
        says = str(known.get("description") or name) if isinstance(known, dict) else name
        default = ... if name in needed else None
        fields[f"argument_{number}"] = (
            wanted if name in needed else wanted | None,
            Field(default, alias=name, description=says[:300]),
        )
    return create_model(called, __base__=Parameters, **fields)


def _text_of(result: Any) -> str:
    """The text of a result; of what is no text what it is. Raises `AthenaError` for an error of the tool."""
    said = [
        block.text if block.type == "text" else f"({block.type}, which is not shown)"
        for block in result.content
    ]
    text = "\n".join(said)
    if result.is_error:
        raise AthenaError(text[:500] or "The tool failed.")
    return text
