"""Admission control: as many searches at work at once as there are cores; the others wait for their turn.

Twenty searches that share two cores all take ten times as long. One after the other, the first take no longer
than alone, and the last no longer than they would have.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.models.onnx import core_count

LONGEST_WAIT_S = 1.0
"""Then a search goes on without a place: those before it may be waiting for a server, using no core."""


class Place:
    """A place of one search: held from the start where one was free."""

    def __init__(self, free: threading.Semaphore, longest_wait_s: float) -> None:
        self.held = free.acquire(blocking=False)
        self._free = free
        self._longest_wait_s = longest_wait_s

    def wait(self) -> None:
        """Wait until a place is free, but not for ever: `held` says whether one came free in time."""
        self.held = self._free.acquire(timeout=self._longest_wait_s)


class Admission:
    """Gives places to searches; one for all of a process, and safe to use from several threads."""

    def __init__(self, places: int = 0, *, longest_wait_s: float = LONGEST_WAIT_S) -> None:
        self.places = places or core_count()
        self._longest_wait_s = longest_wait_s
        self._free = threading.Semaphore(self.places)

    @contextmanager
    def place(self) -> Iterator[Place]:
        """A place for the block; where it is not held, wait for it first."""
        place = Place(self._free, self._longest_wait_s)
        try:
            yield place
        finally:
            if place.held:
                self._free.release()
