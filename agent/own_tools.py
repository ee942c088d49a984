"""Athena's own tools: an agent searches and opens documents, and reads and changes the user's memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent.run import AgentRun, Found
from agent.tools import AgentTool, parameters_of
from pipeline.answering.recollection import named
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.steps.records import ToolKind

MOST_MEMORIES, MOST_RELATIONS = 10, 30


def search(run: AgentRun, query: str) -> Found:
    """Search the documentation for a question or words; returns the sections that answer it best."""
    found = run.find(query)
    return Found(counted(len(found.passages), "section"), found.passages, judged=found.answerability)


def open_section(run: AgentRun, section_id: str) -> Found:
    """Read a section whole by the id that stands beside its source."""
    return Found("1 section", (run.section(section_id),))


def recall(run: AgentRun, query: str) -> Found:
    """Search what the user asked to remember."""
    found = [one.memory for one in run.memory.search(query, limit=MOST_MEMORIES)]
    return _memories({memory.id: memory.text for memory in found})


def neighbourhood(run: AgentRun, name: str) -> Found:
    """List the relations around a person, part or place."""
    return _memories(run.memory.relations_around(name, limit=MOST_RELATIONS))


def remember(run: AgentRun, text: str) -> Found:
    """Keep a fact about the user, word for word."""
    kept = run.memory.add(text)
    return _memories({known: run.memory.get(known).text for known in kept.ids})


def forget(run: AgentRun, memory_ids: list[str]) -> Found:
    """Forget memories by the ids that recall gave, for good."""
    forgotten = run.memory.forgetting(memory_ids)
    run.memory.forget(forgotten)
    done = f"{counted(len(forgotten.ids), 'memory')} forgotten"
    return Found(done, text=done, shown=done)


def _memories(texts: Mapping[str, str]) -> Found:
    lines = "\n".join(f"- {text} (id {known})" for known, text in texts.items())
    shown = "\n".join(f"- {named(known)}" for known in texts)
    return Found(counted(len(texts), "memory"), text=lines or "Nothing.", shown=shown, recalled=tuple(texts))


def _own(call: Callable[..., Found], kind: ToolKind, *, writes: bool = False) -> AgentTool:
    parameters = parameters_of(call, without="run")
    return AgentTool(call.__name__, inspect.getdoc(call) or "", parameters, call, kind, writes=writes)


OWN = (
    _own(search, "documents"),
    _own(open_section, "documents"),
    _own(recall, "memory"),
    _own(neighbourhood, "memory"),
    _own(remember, "memory", writes=True),
    _own(forget, "memory", writes=True),
)
"""Athena's own tools, the search first."""
