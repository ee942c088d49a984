"""The trace of one run: it times each step, keeps its record, and emits its start and end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from pipeline.steps.events import Emit, StepFinished, StepStarted
from pipeline.steps.records import LABELS, Step, StepStatus

KEPT_RANKS = 30  # with all ranks an answer had 100 kB; `pipeline/finding/why.py` searches again for them
RANKED = frozenset(
    {"bm25_sections", "bm25_sentences", "dense_sections", "dense_sentences", "ranking", "after", "dropped"}
)


@dataclass(slots=True)
class RunningStep:
    """A step while it runs; the block fills `data`."""

    name: str
    status: StepStatus = "ok"
    detail: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        """Mark the step as skipped."""
        self.status, self.detail = "skipped", why

    def fail(self, why: str) -> None:
        """Mark the step as failed although the run goes on."""
        self.status, self.detail = "failed", why

    def is_on(self, switch: bool) -> bool:
        """Return `switch`; mark the step as skipped where it is False."""
        if not switch:
            self.skip("switched off")
        return switch


class Trace:
    """The steps of one run, in order.

    Of each ranking (`RANKED`) the first `ranks` are kept, None = all. One reading of the wall clock anchors
    all start times, so that setting the clock during a run moves no step.
    """

    def __init__(self, emit: Emit | None = None, ranks: int | None = KEPT_RANKS) -> None:
        self.steps: list[Step] = []
        self.started_at = time.time()  # Unix seconds
        self._started = time.perf_counter()
        self._emit = emit or (lambda _: None)
        self._ranks = ranks

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self._started

    @contextmanager
    def step(self, name: str, /, **data: Any) -> Iterator[RunningStep]:
        """Run the block as a step that starts with `data`; where it raises, the step has failed."""
        step, started = RunningStep(name, data=data), time.perf_counter()
        self._emit(StepStarted(name, LABELS[name].format_map(data)))
        try:
            yield step
        except BaseException as error:
            step.fail(str(error) or type(error).__name__)
            raise
        finally:
            ms = (time.perf_counter() - started) * 1000
            at = self.started_at + started - self._started
            kept = {key: value[: self._ranks] for key, value in step.data.items() if key in RANKED}
            self.steps.append(Step(name, ms, step.status, step.detail, at, plain(step.data | kept)))
            self._emit(StepFinished(self.steps[-1]))


def plain(value: Any) -> Any:
    """Return the value made of strings, numbers, lists and dicts; records become dicts of their fields.

    Raises `TypeError` for anything else.
    """
    match value:
        case None | str() | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case _ if is_dataclass(value):
            return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
        case tuple() if hasattr(value, "_asdict"):
            return plain(value._asdict())
        case Iterable():
            return [plain(item) for item in value]
    raise TypeError(f"A step cannot keep a {type(value).__name__}: use strings, numbers, lists and dicts.")
