"""What is done after an answer was shown, and never delays one."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable

from pipeline.errors import AthenaError

logger = logging.getLogger(__name__)

Job = Callable[[], object]


class AfterAnswers:
    """Jobs that are done one after the other: in the background, or when `finish` is called.

    A job that fails is logged, and the others are done: what it left undone is found again later.
    """

    def __init__(self, *, background: bool) -> None:
        self._background = background
        self._jobs: deque[Job] = deque()
        self._working = threading.Lock()  # held by whoever does jobs

    def add(self, job: Job) -> None:
        """Do this soon."""
        self._jobs.append(job)
        if self._background and not self._working.locked():  # whoever works looks again once it let go
            self._begin()

    def finish(self, *, within_s: float | None = None) -> bool:
        """Return when all is done, or after `within_s` and the job at hand: False where more is left."""
        until = math.inf if within_s is None else time.monotonic() + within_s
        if not self._working.acquire(timeout=-1 if within_s is None else within_s):
            return False
        try:
            self._do_jobs(until)
        finally:
            self._working.release()
        if self._jobs and self._background:
            self._begin()
        return not self._jobs

    def _begin(self) -> None:
        """Work in the background."""
        try:
            # Not a daemon: ended while a model computes, ONNX Runtime would abort the process.
            threading.Thread(target=self._work, name="remembering").start()
        except RuntimeError as error:  # no thread can be had: the next job asks again, or `finish` does it
            logger.warning("not remembered yet: %s", error)

    def _work(self) -> None:
        while self._jobs and self._working.acquire(blocking=False):
            try:
                self._do_jobs()
            finally:
                self._working.release()

    def _do_jobs(self, until: float = math.inf) -> None:
        """Do what is to be done, but begin nothing after `until`."""
        while self._jobs:
            job = self._jobs.popleft()
            try:
                job()
            except AthenaError as error:
                logger.warning("not remembered yet: %s", error)
            except Exception:  # a fault of ours, which the other jobs have no part in
                logger.exception("not remembered yet")
            if time.monotonic() > until:
                return
