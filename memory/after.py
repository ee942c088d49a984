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
        self._changed = threading.Condition()
        self._working = False

    def add(self, job: Job) -> None:
        """Do this soon."""
        with self._changed:
            self._jobs.append(job)
            if not self._background or self._working:
                return
            self._working = True
        self._begin()

    def finish(self, *, within_s: float | None = None) -> bool:
        """Return when all is done, or after `within_s` and the job at hand: False where more is left."""
        until = math.inf if within_s is None else time.monotonic() + within_s
        with self._changed:
            if not self._changed.wait_for(lambda: not self._working, within_s):
                return False
            self._working = True
        return self._work(until)

    def _work(self, until: float = math.inf) -> bool:
        """Do what is to be done, but begin nothing after `until`; False where something is left."""
        try:
            while job := self._next():
                try:
                    job()
                except AthenaError as error:
                    logger.warning("not remembered yet: %s", error)
                except Exception:  # a fault of ours, which the other jobs have no part in
                    logger.exception("not remembered yet")
                if time.monotonic() > until:
                    return self._pause()
            return True
        except BaseException:
            self._stop()
            raise

    def _begin(self) -> None:
        """Work in the background."""
        try:
            # Not a daemon: ended while a model computes, ONNX Runtime would abort the process.
            threading.Thread(target=self._work, name="remembering").start()
        except RuntimeError as error:  # no thread can be had: the next job asks again, or `finish` does it
            logger.warning("not remembered yet: %s", error)
            self._stop()

    def _pause(self) -> bool:
        """Leave the rest to the background, or to the next `finish`; True where nothing is left."""
        with self._changed:
            left = bool(self._jobs)
        if left and self._background:
            self._begin()
        else:
            self._stop()
        return not left

    def _stop(self) -> None:
        with self._changed:
            self._working = False
            self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            if self._jobs:
                return self._jobs.popleft()
            self._working = False
            self._changed.notify_all()
            return None
