"""Jobs that run after an answer was shown, one after the other, and never delay one."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pipeline.errors import AthenaError

logger = logging.getLogger(__name__)

Job = Callable[[], object]


class AfterAnswers:
    """A queue of jobs, done in a background thread, or when `finish` is called; a failed job is logged."""

    def __init__(self, *, background: bool) -> None:
        self._jobs: deque[Job] = deque()
        self._working = threading.Lock()  # held by the thread that does jobs
        self._worker = ThreadPoolExecutor(1, "remembering") if background else None

    def add(self, job: Job) -> None:
        """Do this soon."""
        self._jobs.append(job)
        try:
            if self._worker is not None:
                self._worker.submit(self.finish)
        except RuntimeError as error:  # no thread can be started: the next job or `finish` does it
            logger.warning("not remembered yet: %s", error)

    def finish(self, *, within_s: float = math.inf) -> bool:
        """Do the jobs; return True when all are done, False when `within_s` passed before."""
        until = time.monotonic() + within_s
        if not self._working.acquire(timeout=-1 if within_s == math.inf else within_s):
            return False
        try:
            while self._jobs:
                _done(self._jobs.popleft())
                if time.monotonic() > until:
                    break
        finally:
            self._working.release()
        return not self._jobs


def _done(job: Job) -> None:
    try:
        job()
    except AthenaError as error:
        logger.warning("not remembered yet: %s", error)
    except Exception:  # a fault of ours must not stop the other jobs
        logger.exception("not remembered yet")
