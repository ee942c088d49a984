"""The trace of one run: it times each step, keeps its record, and emits its start and end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic_core import to_jsonable_python

from pipeline.steps.events import Emit, StepFinished, StepStarted
from pipeline.steps.records import LABELS, Step

KEPT_RANKS = 30  # with all ranks an answer had 100 kB; `pipeline/finding/why.py` searches again for them
RANKED = frozenset(
    {"bm25_sections", "bm25_sentences", "dense_sections", "dense_sentences", "ranking", "after", "dropped"}
)


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
    def step(self, name: str, /, **data: Any) -> Iterator[Step]:
        """Run the block as a step that starts with `data`; where it raises, the step has failed."""
        step, started = Step(name, data=data), time.perf_counter()
        step.started_at = self.started_at + started - self._started
        self._emit(StepStarted(name, LABELS[name].format_map(data)))
        try:
            yield step
        except BaseException as error:
            step.fail(str(error) or type(error).__name__)
            raise
        finally:
            step.ms = (time.perf_counter() - started) * 1000
            kept = {key: value[: self._ranks] for key, value in step.data.items() if key in RANKED}
            step.data = to_jsonable_python(step.data | kept)
            self.steps.append(step)
            self._emit(StepFinished(step))
