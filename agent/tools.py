"""Tools as an agent has them, and the user's functions as tools."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, create_model
from pydantic.errors import PydanticUserError

from pipeline.errors import ConfigurationError
from pipeline.redaction import redacted
from pipeline.words import well_formed

if TYPE_CHECKING:
    from pipeline.steps.records import ToolKind

MOST_CHARACTERS = 20_000  # of a result
HOW_TO_NAME = "Name it module:function, with =reads where it changes nothing: weather:forecast=reads."


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool as a model is offered it.

    `call` takes the arguments that `parameters` describes, and returns a result or an awaitable of one.
    Athena's own tools (`origin` is "") take the run first, and return a `Found`.
    """

    name: str
    description: str
    parameters: type[BaseModel]
    call: Callable[..., Any]
    kind: ToolKind = "tool"
    writes: bool = True
    origin: str = ""


Consent = Callable[[AgentTool, Mapping[str, Any], threading.Event], bool]
"""Asks the user whether a tool that writes may be called so; ends early where the event is set."""


def function_tool(function: Callable[..., Any], *, reads: bool = False) -> AgentTool:
    """Make a tool of a function: its types are the parameters, its docstring is the description.

    The user is asked before each call unless the function only `reads`. Raises `ConfigurationError` for a
    function that cannot be called by the names of its parameters.
    """
    parameters = parameters_of(function)
    description = " ".join((inspect.getdoc(function) or f"Call {parameters.__name__}.").split())
    origin = getattr(function, "__module__", "") or "a function"
    return AgentTool(parameters.__name__, description, parameters, function, writes=not reads, origin=origin)


def named_tools(setting: str) -> Iterator[AgentTool]:
    """Yield the functions that ATHENA_TOOLS names; raises `ConfigurationError` for one that is not there."""
    for entry in filter(None, (part.strip() for part in setting.split(","))):
        place, _, effect = entry.partition("=")
        module, _, name = place.partition(":")
        try:
            if not name or effect not in ("", "reads"):
                raise ValueError("it names no function")
            function = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigurationError(f"ATHENA_TOOLS has '{entry}': {error}.", HOW_TO_NAME) from error
        yield function_tool(function, reads=effect == "reads")


def parameters_of(function: Callable[..., Any], *, without: str = "") -> type[BaseModel]:
    """Return a model of a function's parameters but one; raises `ConfigurationError`."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        types = get_type_hints(function)
        given = [one for one in inspect.signature(function).parameters.values() if one.name != without]
        if any(one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in given):
            raise ValueError("a parameter has no name")
        fields: dict[str, Any] = {
            one.name: (types.get(one.name, str), ... if one.default is one.empty else one.default)
            for one in given
        }
        return create_model(name, **fields)
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        fix = "Give it a signature with names and types."
        raise ConfigurationError(f"'{name}' cannot be a tool: {error}.", fix) from error


def result_text(value: Any) -> str:
    """Return the result of a function as a text without secrets, cut after 20,000 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return redacted(well_formed(text[: 2 * MOST_CHARACTERS]))[:MOST_CHARACTERS]
