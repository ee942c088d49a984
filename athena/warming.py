"""Work ahead of time, and how Python is set for a process that serves many."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from pipeline.errors import ModelError, StoreError

GARBAGE_THRESHOLD = 50_000
"""New objects between two garbage collections. At Python's 700 they take a tenth of all imports, and 8 % of
the time of a process that serves 20 users, up to .26 s at once."""

SWITCH_INTERVAL_S = 0.001
"""How long a computing thread keeps the interpreter while others wait. A search changes threads some twenty
times, and at Python's .005 waits that long at each for whoever computes."""


def collect_garbage_rarely() -> None:
    """Let Python collect garbage less often, in the whole process."""
    gc.set_threshold(GARBAGE_THRESHOLD)


def serve_many() -> None:
    """Set Python for many threads at once, in the whole process."""
    collect_garbage_rarely()
    sys.setswitchinterval(SWITCH_INTERVAL_S)


def run_ahead(job: Callable[[], object]) -> None:
    """Run a job in a thread; a failure is reported where the result is needed, not here."""

    def run() -> None:
        with suppress(ModelError, StoreError):
            job()

    # Not a daemon: ended while it loads a model, ONNX Runtime would abort the process.
    threading.Thread(target=run, name="warm-up").start()
