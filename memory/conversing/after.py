"""What is done after an answer was shown, and never delays one."""

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
    """Jobs that are done one after the other: in the background, or when `finish` is called.

    A job that fails is logged, and the others are done: what it left undone is found again later. A program
    that ends waits for them: ended while a model computes, ONNX Runtime would abort the process.
    """

    def __init__(self, *, background: bool) -> None:
        self._jobs: deque[Job] = deque()
        self._working = threading.Lock()  # held by whoever does jobs
        self._worker = ThreadPoolExecutor(1, "remembering") if background else None

    def add(self, job: Job) -> None:
        """Do this soon."""
        self._jobs.append(job)
        try:
            if self._worker is not None:
                self._worker.submit(self.finish)
        except RuntimeError as error:  # no thread can be had: the next job asks again, or `finish` does it
            logger.warning("not remembered yet: %s", error)

    def finish(self, *, within_s: float = math.inf) -> bool:
        """Return when all is done, or after `within_s` and the job at hand: False where more is left."""
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
    except Exception:  # a fault of ours, which the other jobs have no part in
        logger.exception("not remembered yet")
