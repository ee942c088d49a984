"""The MCP server: what clients may call, over any transport, in both eras of the protocol.

It is built on the SDK's low-level server: that one leaves schemas, arguments and errors to us.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import mcp_types as types
from anyio import from_thread, to_thread
from anyio.lowlevel import current_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from athena.tools import document_tools, memory_tools
from athena.tools.addresses import Addresses
from athena.tools.cutting import as_json
from athena.tools.tool import Call, Refused, Tool, shape_of
from doors.keys import ENDED, SEND_A_KEY, NoKey, holds
from doors.mcp import answer_tools, prompts, resources, writing_tools
from doors.refusals import without_paths
from pipeline.errors import AthenaError, NotAllowed
from pipeline.redaction import redacted
from pipeline.words import well_formed

if TYPE_CHECKING:
    from athena import Athena
    from athena.tools.tool import Caller

Context: TypeAlias = ServerRequestContext[Any, Any]
Outcome = TypeVar("Outcome")

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        *document_tools.TOOLS,
        *answer_tools.TOOLS,
        *memory_tools.TOOLS,
        *writing_tools.TOOLS,
    )
}
INSTRUCTIONS = (
    "Athena knows the user's documentation and what the user asked it to remember. search finds passages, get"
    " reads on, ask answers with citations; recall finds memories. Cite by title, url and lines. "
    + document_tools.CONTENT
)
UNEXPECTED = "Something went wrong here that should not. Try again; the server's log says what it was."

logger = logging.getLogger(__name__)


def make_server(
    athena: Callable[[], Athena], caller_of: Callable[[Context], Caller], *, page: bool = False
) -> Server[Any]:
    """A server over the Athena of the process, for whoever `caller_of` says that a request is from.

    With a `page` at the same address, results are read there; else they are resources.
    """
    desk = _Desk(athena, caller_of, page=page)
    server: Server[Any] = Server(
        "athena",
        title="Athena",
        version=version("athena-docs"),
        instructions=INSTRUCTIONS,
        on_list_tools=desk.list_tools,
        on_call_tool=desk.call_tool,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
        on_list_prompts=desk.list_prompts,
        on_get_prompt=desk.get_prompt,
        on_completion=desk.complete,
    )
    server.middleware.append(_checked)
    return server


async def _checked(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Refuse in our words what has the wrong form; a prompt's arguments may be numbers."""
    given = dict(ctx.params or {})
    arguments = given.get("arguments")
    if ctx.method == "tools/call":
        tool = TOOLS.get(str(given.get("name")))
        if not isinstance(given.get("name"), str):
            raise MCPError(types.INVALID_PARAMS, f"The 'name' of a tool is missing: {', '.join(TOOLS)}.")
        if tool is not None and not isinstance(arguments, Mapping | None):
            raise MCPError(types.INVALID_PARAMS, f"'arguments' must be an object. {tool.right_call}")
    elif ctx.method == "prompts/get" and isinstance(arguments, Mapping):
        texts = {
            name: str(value) if type(value) in (int, float) else value for name, value in arguments.items()
        }
        ctx = replace(ctx, params={**given, "arguments": texts})
    return await call_next(ctx)


class _Desk:
    """Answers the requests of clients."""

    def __init__(
        self, athena: Callable[[], Athena], caller_of: Callable[[Context], Caller], *, page: bool
    ) -> None:
        self._athena = athena
        self._page = page
        self._caller_of = caller_of

    # -- tools --------------------------------------------------------------------------------------

    async def list_tools(self, context: Context, _: object) -> types.ListToolsResult:
        """The tools that the caller may use."""
        caller = self._caller_of(context)
        return types.ListToolsResult(
            tools=[_told(tool) for tool in TOOLS.values() if tool.right in caller.rights]
        )

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """The result of a tool; what the model can put right comes as a result that is an error."""
        tool, caller = TOOLS.get(params.name), self._caller_of(context)
        if tool is None:
            near = get_close_matches(params.name, TOOLS, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(TOOLS)}."
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool '{well_formed(params.name[:80])}'. {hint}"
            )
        try:
            caller.require(tool.right)
            given = tool.read(params.arguments or {})
            return await self._in_thread(context, partial(_called, tool, given), caller=caller)
        except AthenaError as error:
            return _error(_said(error))

    # -- resources and prompts ----------------------------------------------------------------------

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The documents, page by page."""
        after = (params.cursor if params else None) or ""
        return await self._reading(context, partial(resources.listed, after=after))

    async def list_templates(self, _: Context, __: object) -> types.ListResourceTemplatesResult:
        """What resources there are."""
        return types.ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """A document or a section."""
        return await self._reading(context, partial(resources.contents, uri=str(params.uri)))

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Names of documents and sections; of prompts' arguments nothing is known."""
        if not isinstance(params.ref, types.ResourceTemplateReference):
            return types.CompleteResult(completion=types.Completion(values=[]))
        look = partial(resources.completed, uri=params.ref.uri, value=params.argument.value)
        return types.CompleteResult(completion=await self._reading(context, look))

    async def list_prompts(self, _: Context, __: object) -> types.ListPromptsResult:
        """The prompts."""
        return types.ListPromptsResult(prompts=prompts.listed())

    async def get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """One prompt, filled in."""
        with _as_protocol_has_it():
            return prompts.filled(params.name, params.arguments or {})

    # -- running ------------------------------------------------------------------------------------

    async def _reading(self, context: Context, look: Callable[[Athena], Outcome]) -> Outcome:
        """What looking into the documents gives."""
        caller = self._caller_of(context)
        with _as_protocol_has_it():
            caller.require("read")
            return await self._in_thread(context, lambda call: look(call.athena), caller=caller)

    async def _in_thread(
        self, context: Context, work: Callable[[Call], Outcome], *, caller: Caller
    ) -> Outcome:
        """What the work gives that is done in a thread; a client that cancels stops it."""
        stop = threading.Event()
        tell = _progress_of(context, stop)
        addresses = Addresses(str(context.request.base_url) if self._page and context.request else "")
        try:
            return await to_thread.run_sync(
                lambda: work(Call(self._athena(), caller, addresses, stop, tell)), abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            stop.set()
            raise
        except AthenaError:
            raise
        except Exception as error:  # the SDK would show a client its text: paths, settings
            logger.exception("%s failed", context.method)
            raise MCPError(types.INTERNAL_ERROR, UNEXPECTED) from error


@contextmanager
def _as_protocol_has_it() -> Iterator[None]:
    """Turn what cannot be done as it is asked for into the protocol's error."""
    try:
        yield
    except AthenaError as error:
        theirs = isinstance(error, Refused | NotAllowed)
        raise MCPError(types.INVALID_PARAMS if theirs else types.INTERNAL_ERROR, _said(error)) from error


def _said(error: AthenaError) -> str:
    """What went wrong, without paths of this machine."""
    return well_formed(without_paths(str(error)))


def _told(tool: Tool) -> types.Tool:
    """A tool as clients list it."""
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.effect == "reads",
        destructive_hint=tool.effect == "destroys",
        idempotent_hint=tool.repeatable,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.says,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints,
    )


def _called(tool: Tool, given: Any, call: Call) -> types.CallToolResult:
    """What a tool gives; nothing where the key ended meanwhile."""
    result = _result(tool.run(call, given))
    if call.caller.key_id and not holds(call.athena.keys, call.caller):
        raise NoKey(ENDED, SEND_A_KEY)
    return result


def _result(given: Any) -> types.CallToolResult:
    """A result as structured content, and the same as text."""
    text = redacted(well_formed(as_json(shape_of(given))))
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=json.loads(text))


def _error(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


def _progress_of(context: Context, stop: threading.Event) -> Callable[[str], None]:
    """What tells the client from a thread how far it is, as long as it listens."""
    numbers, loop = count(1), current_token()

    def tell(doing: str) -> None:
        if not stop.is_set():
            from_thread.run(context.session.report_progress, float(next(numbers)), None, doing, token=loop)

    return tell
