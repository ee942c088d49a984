"""The record of one step of a run: its name, how long it took, how it ended, and its data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

STOPPED = "stopped"  # why a step is skipped once the user has stopped the answer
LINE = 80  # most characters of a tool's arguments in `call_line`

StepStatus = Literal["ok", "skipped", "failed"]
MemoryVerdict = Literal["remembered", "closest", "not remembered"]
ToolKind = Literal["documents", "memory", "tool"]
"""The result of a tool: passages, which can be cited; memories; or, for "tool", any other result."""

LABELS: Mapping[str, str] = {
    "tool": "Calling {tool}",
    "condense": "Rewriting the question",
    "recall": "Remembering",
    "correct": "Reading the question",
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
"""The text shown while a step runs, by its name; the step's first data fill the placeholders."""


@dataclass(slots=True)
class Step:
    """One step of a run: its block fills `data`; when it has ended, it is stored, shown and exported.

    The `data` of a finished step are JSON values only, so that they are the same when read back.
    """

    name: str
    ms: float = 0.0
    status: StepStatus = "ok"
    detail: str = ""  # why it was skipped or failed
    started_at: float = 0.0  # Unix seconds
    data: dict[str, Any] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        """Mark the step as skipped."""
        self.status, self.detail = "skipped", why

    def fail(self, why: str) -> None:
        """Mark the step as failed; the run itself may go on."""
        self.status, self.detail = "failed", why

    def is_on(self, switch: bool) -> bool:
        """Return `switch`; if it is False, mark the step as skipped."""
        if not switch:
            self.skip("switched off")
        return switch


def last_step(steps: Iterable[Step], name: str) -> Step | None:
    """Return the last step with this name, or None."""
    return next((step for step in reversed([*steps]) if step.name == name), None)


def data_of(steps: Iterable[Step], name: str) -> Mapping[str, Any]:
    """Return the data of the last step with this name, or {}."""
    step = last_step(steps, name)
    return step.data if step else {}


def call_line(step: Step) -> str:
    """Return a "tool" step as one line of plain text: the call, then its result or the reason it failed."""
    given = " ".join(" · ".join(map(str, step.data["arguments"].values())).split())
    return f"{step.data['tool']} “{given:.{LINE}}”: {step.data.get('found') or step.detail or step.status}"
