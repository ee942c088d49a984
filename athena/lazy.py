"""The timing of work: values made at their first use, jobs run ahead of time, and Python's own pauses."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from pipeline.errors import ModelError, StoreError

Value = TypeVar("Value")

GARBAGE_THRESHOLD = 50_000
"""New objects between two garbage collections. At Python's 700, collections take a tenth of the time of all
imports, and 8 % of the time of a process that serves 20 users, up to .26 s at once."""
SWITCH_INTERVAL_S = 0.001
"""How long a computing thread keeps the interpreter while others wait. A search switches threads about 20
times; at Python's .005, it waits up to 5 ms for a computing thread at each switch."""


class Lazy(Generic[Value]):
    """A callable that returns a value: the first call runs `make`, later calls in any thread reuse it."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._made: list[Value] = []

    def __call__(self) -> Value:
        """Return the value; raises what `make` raises, and then the next call runs `make` again."""
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    @property
    def made(self) -> Value | None:
        """The value if it was made, else None."""
        return self._made[0] if self._made else None


def run_ahead(job: Callable[[], object]) -> None:
    """Run a job in a thread; a `ModelError` or `StoreError` is ignored, as later use will raise it."""

    def run() -> None:
        with suppress(ModelError, StoreError):
            job()

    # Not a daemon: if the process ended while this thread loads a model, ONNX Runtime would abort it.
    threading.Thread(target=run, name="warm-up").start()


def shorten_pauses() -> None:
    """Collect garbage less often and switch threads sooner, in the whole process."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
