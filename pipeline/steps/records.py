"""The record of one step of a run: its name, how long it took, how it ended, and its data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

STOPPED = "stopped"  # why a step is skipped once the user has stopped the answer
LINE = 80  # characters of a tool's arguments that a line shows
DONE = {"search": "searched", "recall": "recalled", "remember": "remembered", "neighbourhood": "around"}

StepStatus = Literal["ok", "skipped", "failed"]
MemoryVerdict = Literal["remembered", "closest", "not remembered"]
ToolKind = Literal["documents", "memory", "tool"]
"""What a tool returns: passages, which are evidence; memories; or something that only the tool knows."""

LABELS: Mapping[str, str] = {
    "tool": "Calling {tool}",
    "condense": "Reading the conversation",
    "recall": "Remembering",
    "correct": "Reading the question",
    "hyde": "Writing a hypothetical answer",
    "embed": "Embedding the question",
    "search": "Searching {sentences:,} sentences",
    "fuse": "Fusing the rankings",
    "merge": "Merging sentences into sections",
    "rerank": "Reranking",
    "answerable": "Judging whether this answers it",
    "merge_up": "Merging sections into their parents",
    "select": "Selecting passages",
    "prompt": "Writing the prompt",
    "generate": "Writing the answer",
    "quote": "Choosing quotes",
    "verify": "Checking the citations",
    "remember": "Keeping what to remember",
}
"""The text shown while a step runs, by the step's name; filled in with the data it starts with."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it is stored, shown and exported.

    `data` has plain strings, numbers, lists and dicts only: a step that was stored reads back equal.
    """

    name: str
    ms: float = 0.0
    status: StepStatus = "ok"
    detail: str = ""  # why it was skipped or failed
    started_at: float = 0.0  # Unix seconds
    data: Mapping[str, Any] = field(default_factory=dict)


def last_step(steps: Iterable[Step], name: str) -> Step | None:
    """Return the last step of that name, or None."""
    return next((step for step in reversed([*steps]) if step.name == name), None)


def data_of(steps: Iterable[Step], name: str) -> Mapping[str, Any]:
    """Return the data of the last step of that name, or {}."""
    step = last_step(steps, name)
    return step.data if step else {}


def call_line(step: Step) -> str:
    """Return one line of plain text about a "tool" step: the call, and what it found or why it failed."""
    tool, arguments = step.data["tool"], step.data["arguments"]
    given = " ".join(" · ".join(map(str, arguments.values())).split())
    done = DONE.get(tool, tool) if step.status == "ok" else tool
    about = f" “{given[:LINE]}{'…' if len(given) > LINE else ''}”" if given else ""
    return f"{done}{about}: {step.data.get('found') or step.detail or step.status}"
