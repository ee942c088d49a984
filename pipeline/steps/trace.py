"""The trace of one run: it takes steps, times each, and keeps their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from pipeline.errors import AthenaError
from pipeline.steps.events import Emit, Events, StepFinished, StepStarted
from pipeline.steps.records import KEPT_RANKS, AnyStep, Step

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(slots=True)
class RunningStep(Generic[AnyStep]):
    """A step at work: `record` is replaced by one that says more as more is known.

    Of its lists no more than the first `ranks` are kept in the end (None = all).
    """

    record: AnyStep
    ranks: int | None

    def set(self, **found: Any) -> None:
        """Add to the record."""
        self.record = replace(self.record, **found)

    def is_on(self, switch: bool) -> bool:
        """Whether the options want the step; where not, mark it as skipped."""
        if not switch:
            self.skip("switched off")
        return switch

    def skip(self, why: str) -> None:
        """Mark the step as not done, and say why."""
        self.record = replace(self.record, status="skipped", detail=why)

    def fail(self, why: str) -> None:
        """Mark the step as failed although the run goes on, and say why."""
        self.record = replace(self.record, status="failed", detail=why)


class Trace:
    """The steps of one run, in order, each with the first `ranks` of its lists (None = all of them).

    One look at the clock anchors all times, so that a clock that is set meanwhile moves no step.
    """

    def __init__(self, *, ranks: int | None = KEPT_RANKS, emit: Emit | None = None) -> None:
        self._emit = emit or (lambda _: None)
        self.steps: list[Step] = []
        self.started_at = time.time()
        self._started = time.perf_counter()
        self._ranks = ranks

    @property
    def seconds(self) -> float:
        """How long ago the run began."""
        return time.perf_counter() - self._started

    @contextmanager
    def step(self, begun: AnyStep) -> Iterator[RunningStep[AnyStep]]:
        """Take the block as a step: time it, record it, and emit its start and its end.

        Where the block raises, the step is recorded as failed.
        """
        step = RunningStep(begun, self._ranks)
        self._emit(StepStarted(begun.name, begun.working))
        try:
            with self._timed(step):
                yield step
        finally:
            self._emit(StepFinished(step.record))

    def take(
        self,
        begun: AnyStep,
        work: Callable[Concatenate[RunningStep[AnyStep], Given], Result],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Events[Result]:
        """Take a step: what `work` returns, with the events around it.

        Where `work` raises, the step is recorded as failed.
        """

        def without_events(step: RunningStep[AnyStep]) -> Events[Result]:
            yield from ()
            return work(step, *args, **kwargs)

        return self.stream(begun, without_events)

    def stream(
        self,
        begun: AnyStep,
        work: Callable[Concatenate[RunningStep[AnyStep], Given], Events[Result]],
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Events[Result]:
        """Take a step that has events of its own."""
        step = RunningStep(begun, self._ranks)
        yield StepStarted(begun.name, begun.working)
        try:
            with self._timed(step):
                result = yield from work(step, *args, **kwargs)
        except AthenaError:
            yield StepFinished(step.record)
            raise
        yield StepFinished(step.record)
        return result

    @contextmanager
    def _timed(self, step: RunningStep[AnyStep]) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        except BaseException as error:
            step.fail(str(error) or type(error).__name__)
            raise
        finally:
            ms = (time.perf_counter() - started) * 1000
            started_at = self.started_at + started - self._started
            first = {name: getattr(step.record, name)[: self._ranks] for name in step.record.RANKED}
            step.record = replace(step.record, ms=ms, started_at=started_at, **first)
            self.steps.append(step.record)
