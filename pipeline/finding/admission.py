"""Admission control: as many searches at work at once as there are cores; the others wait for their turn.

Twenty searches that share two cores all take ten times as long. One after the other, the first take no longer
than alone, and the last no longer than they would have.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.models.onnx import core_count
from pipeline.steps.events import Trace

LONGEST_WAIT_S = 1.0
"""Then a search goes on without a place: those before it may wait for a server and use no core at all."""


class Admission:
    """Gives places to searches; one for all of a process, and safe to use from several threads."""

    def __init__(self, places: int = 0, *, longest_wait_s: float = LONGEST_WAIT_S) -> None:
        self.places = places or core_count()
        self._longest_wait_s = longest_wait_s
        self._free = threading.Semaphore(self.places)

    @contextmanager
    def place(self, trace: Trace) -> Iterator[None]:
        """Hold a place for the block; where none is free, waiting for one is a step of the trace."""
        held = self._free.acquire(blocking=False) or self._wait(trace)
        try:
            yield
        finally:
            if held:
                self._free.release()

    def _wait(self, trace: Trace) -> bool:
        """True where a place came free in time."""
        with trace.step("wait", places=self.places) as step:
            held = self._free.acquire(timeout=self._longest_wait_s)
            if not held:
                step.detail = "no place came free in time: searching beside the others"
        return held
