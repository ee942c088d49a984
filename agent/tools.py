"""The tools of an agent: Athena's own, and the user's functions."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import BaseModel, create_model
from pydantic.errors import PydanticUserError

from pipeline.answer import Answerability, Passage
from pipeline.errors import ConfigurationError, UnknownDocument
from pipeline.redaction import redacted
from pipeline.stores.globs import as_scope, matches
from pipeline.words import counted, well_formed

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answering.turns import RunningTurn
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.records import ToolKind

MOST_CHARACTERS = 20_000  # of a result
MOST_MEMORIES, MOST_RELATIONS = 10, 30


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool as a model is offered it.

    `call` takes the arguments that `parameters` describes, and returns a result or an awaitable of one.
    The `origin` of Athena's own tools is "".
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


def function_tool(function: Callable[..., Any], *, reads: bool = False, **fixed: Any) -> AgentTool:
    """Make a tool of a function: its types are the parameters, its docstring is the description.

    The user is asked before each call unless the function only `reads`; `fixed` are other fields of the tool.
    Raises `ConfigurationError` for a function that cannot be called by the names of its parameters.
    """
    name = getattr(function, "__name__", type(function).__name__)
    try:
        types, parameters = get_type_hints(function), inspect.signature(function).parameters.values()
        if any(one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) for one in parameters):
            raise ValueError("a parameter has no name")
        fields: dict[str, Any] = {
            one.name: (types.get(one.name, str), ... if one.default is one.empty else one.default)
            for one in parameters
        }
        made = create_model(name, **fields)
    except (TypeError, ValueError, NameError, PydanticUserError) as error:
        fix = "Give it a signature with names and types."
        raise ConfigurationError(f"'{name}' cannot be a tool: {error}.", fix) from error
    description = " ".join((inspect.getdoc(function) or f"Call {name}.").split())
    origin = getattr(function, "__module__", "") or "a function"
    return replace(AgentTool(name, description, made, function, writes=not reads, origin=origin), **fixed)


def result_text(value: Any) -> str:
    """Return the result of a function as a text without secrets, cut after 20,000 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return redacted(well_formed(text[: 2 * MOST_CHARACTERS]))[:MOST_CHARACTERS]


@dataclass(slots=True)
class OwnTools:
    """The tools of one turn: each returns passages, memories' texts by id, or a text."""

    turn: RunningTurn
    hybrid_search: HybridSearch
    memory: UserMemory
    judged: Answerability | None = field(default=None, init=False)  # the most probable verdict of a search

    def search(self, query: str) -> Sequence[Passage]:
        """Search the documentation for a question or words; returns the sections that answer it best."""
        found = self.hybrid_search.search(query, options=self.turn.options, stop=self.turn.stop)
        if self.judged is None or found.answerability.probability > self.judged.probability:
            self.judged = found.answerability
        return found.passages

    def open_section(self, section_id: str) -> Sequence[Passage]:
        """Read a section whole by the id that stands beside its source."""
        node = self.hybrid_search.store.sections.get_many([section_id]).get(section_id)
        scope = as_scope(self.turn.options.paths)
        if node is None or (scope and not matches(node.metadata["source"], scope)):
            raise UnknownDocument(f"No section has the id '{section_id:.100}'.", "Ids stand beside sources.")
        return (Passage(section=node, sentences=(), merged=True, score=0.0),)

    def recall(self, query: str) -> Mapping[str, str]:
        """Search what the user asked to remember."""
        found = self.memory.search(query, limit=MOST_MEMORIES)
        return {one.memory.id: one.memory.text for one in found}

    def neighbourhood(self, name: str) -> Mapping[str, str]:
        """List the relations around a person, part or place."""
        return self.memory.relations_around(name, limit=MOST_RELATIONS)

    def remember(self, text: str) -> Mapping[str, str]:
        """Keep a fact about the user, word for word."""
        return {known: self.memory.get(known).text for known in self.memory.add(text).ids}

    def forget(self, memory_ids: list[str]) -> str:
        """Forget memories by the ids that recall gave, for good."""
        forgotten = self.memory.forgetting(memory_ids)
        self.memory.forget(forgotten)
        return f"{counted(len(forgotten.ids), 'memory')} forgotten"

    def listed(self, *, private: bool) -> list[AgentTool]:
        """Return them as a model is offered them; a `private` conversation changes no memory."""
        documents, memory = (self.search, self.open_section), (self.recall, self.neighbourhood)
        writing = () if private else (self.remember, self.forget)
        return [
            *(function_tool(one, reads=True, kind="documents", origin="") for one in documents),
            *(function_tool(one, reads=True, kind="memory", origin="") for one in memory),
            *(function_tool(one, kind="memory", origin="") for one in writing),
        ]
