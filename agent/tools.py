"""The tools that an agent may choose from: Athena's own, any function, and what they do to anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import Field, create_model
from pydantic.errors import PydanticUserError

from athena.tools import document_tools, memory_tools
from athena.tools.tool import Call, Parameters, Tool
from memory.graph import neighbourhood, sentence
from pipeline.errors import AthenaError, ConfigurationError

if TYPE_CHECKING:
    from pipeline.answer import Retrieval
    from pipeline.steps.records import ToolKind

MOST_RELATIONS = 30
HOW_NAMED = "Name it module:function, with =reads where it changes nothing: weather:forecast=reads."


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool, what its results are, and whose it is ("" = Athena's own)."""

    tool: Tool
    kind: ToolKind = "tool"
    origin: str = ""

    @property
    def writes(self) -> bool:
        """Whether it may change anything: nothing but the user lets it."""
        return self.tool.effect != "reads"

    @property
    def may(self) -> str:
        """What it may do, in a few words."""
        if self.kind == "tool":
            return "may change something: asks before" if self.writes else "reads"
        return f"{'changes' if self.writes else 'reads'} the {self.kind}"


# -- Athena's own ------------------------------------------------------------------------------------------


class Search(Parameters):
    """What `search` takes."""

    query: str = Field(min_length=1, max_length=2_000, description="a question, or words to look for")


def search_tool(search: Callable[[str], Retrieval]) -> AgentTool:
    """The search of one turn: over its documents, with its options."""
    return AgentTool(
        Tool(
            name="search",
            title="Search the documents",
            says="Find the sections of the documents that answer a question.",
            takes=Search,
            gives=object,
            run=lambda _, given: search(given.query),
            example={"query": "What feeds the cabin fan?"},
        ),
        "documents",
    )


class Neighbourhood(Parameters):
    """What `neighbourhood` takes."""

    name: str = Field(min_length=1, max_length=200, description="a person, a part, a place")


@dataclass(frozen=True, slots=True)
class Related:
    """Relations around something: the text of each by its id."""

    relations: Mapping[str, str]


def _neighbourhood(call: Call, given: Neighbourhood) -> Related:
    index = call.memory.index
    with index.lock:
        entity = index.entity_named(given.name)
        if entity is None:
            raise AthenaError(f"Nothing is known of '{given.name}'.", "Check the name.")
        around = neighbourhood(index, [entity.id], depth=2)
    return Related({item.id: sentence(index, item) for item in around.relations[:MOST_RELATIONS]})


NEIGHBOURHOOD = Tool(
    name="neighbourhood",
    title="Look around in the graph",
    says="Say what is related to a person or thing, as was said or stands in documents.",
    takes=Neighbourhood,
    gives=Related,
    run=_neighbourhood,
    example={"name": "cabin fan"},
)


def _named(tool: Tool, name: str, says: str) -> Tool:
    return replace(tool, name=name, says=says)


OWN: tuple[AgentTool, ...] = (
    AgentTool(
        _named(document_tools.FETCH, "read", "Read a whole section or document by its id."), "documents"
    ),
    AgentTool(document_tools.OUTLINE, "documents"),
    AgentTool(document_tools.SIMILAR, "documents"),
    AgentTool(memory_tools.RECALL, "memory"),
    AgentTool(NEIGHBOURHOOD, "memory"),
    AgentTool(memory_tools.REMEMBER, "memory"),
)


# -- functions ---------------------------------------------------------------------------------------------


def function_tool(function: Callable[..., Any], *, reads: bool = False) -> AgentTool:
    """A function as a tool: its types are what it takes, its docstring says what it is for.

    One that is not said to only read may change something: the user is asked before each call. Raises
    `ConfigurationError` for one that cannot be called by names.
    """
    called = getattr(function, "__name__", type(function).__name__)
    says = " ".join((inspect.getdoc(function) or f"Call {called}.").split())
    takes = _parameters(function, called)

    def run(_: Call, given: Parameters) -> Any:
        return function(**{field: getattr(given, field) for field in takes.model_fields})

    return AgentTool(
        Tool(
            name=called,
            title=called,
            says=says,
            takes=takes,
            gives=object,
            run=run,
            example=example_of(takes),
            effect="reads" if reads else "changes",
        ),
        origin=getattr(function, "__module__", "") or "a function",
    )


def _parameters(function: Callable[..., Any], called: str) -> type[Parameters]:
    try:
        types = get_type_hints(function)
        given = inspect.signature(function).parameters.values()
        if any(item.kind not in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY) for item in given):
            raise ValueError("its arguments have no names")
        fields: dict[str, Any] = {
            item.name: (types.get(item.name, str), _field(item.name, item.default)) for item in given
        }
        return create_model(called, __base__=Parameters, **fields)
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        raise ConfigurationError(
            f"'{called}' cannot be a tool: {error}.", "Give it a signature with names and types."
        ) from error


def _field(name: str, default: Any) -> Any:
    says = name.replace("_", " ")
    return Field(description=says) if default is inspect.Parameter.empty else Field(default, description=says)


def example_of(takes: type[Parameters]) -> Mapping[str, Any]:
    """Arguments of a right call: each that is needed, with a value of its type."""
    values = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    known = takes.model_json_schema()
    needed = known.get("required", ())
    return {name: values.get(known["properties"][name].get("type", ""), "…") for name in needed}


def named_tools(setting: str) -> Iterable[AgentTool]:
    """The functions that `ATHENA_TOOLS` names; raises `ConfigurationError` for what cannot be had."""
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        place, _, effect = entry.partition("=")
        module, colon, name = place.partition(":")
        if not (colon and module and name) or effect not in ("", "reads"):
            raise ConfigurationError(f"ATHENA_TOOLS has '{entry}', which names no function.", HOW_NAMED)
        try:
            function = getattr(import_module(module), name)
        except Exception as error:  # what a module does when it is imported may fail in any way
            raise ConfigurationError(f"ATHENA_TOOLS names '{place}': {error}.", HOW_NAMED) from error
        if not callable(function):
            raise ConfigurationError(f"'{place}' of ATHENA_TOOLS is no function.", HOW_NAMED)
        yield function_tool(function, reads=effect == "reads")
