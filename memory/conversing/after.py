"""What is done after an answer was shown, and never delays one; and which turns that is left to do for."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

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


class TurnsInHand:
    """The turns that this process has in hand: from when they are stored until they are remembered.

    Whoever catches up on what an earlier process left undone leaves those alone. A lock on a file in a folder
    says so, which the system lets go of where a process is killed; without a folder, nobody else knows of
    them. Safe to use from several threads.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._held: dict[str, FileLock | None] = {}

    def take(self, turn_id: str) -> bool:
        """Have a turn in hand; False where this or another process has it already."""
        with self._guard:
            if turn_id in self._held:
                return False
            lock = FileLock(self._file(turn_id), thread_local=False) if self._folder else None
            try:
                if lock is not None:
                    lock.acquire(timeout=0)  # which makes the folder, too
            except Timeout:
                return False
            except OSError as error:  # no locks, no room or no rights there: nobody else can be told
                logger.warning("others may answer the same turn: %s", error)
                lock = None
            self._held[turn_id] = lock
            return True

    def leave(self, turn_id: str) -> None:
        """Have it in hand no longer; nothing happens where nobody has."""
        with self._guard:
            lock = self._held.pop(turn_id, None)
        if lock is not None:
            lock.release()
            with suppress(OSError):  # another process has taken it since: the file is theirs
                Path(lock.lock_file).unlink(missing_ok=True)

    def began_here(self, turn_id: str) -> bool:
        """Whether a process with this folder had it in hand, and was ended before it left it."""
        return self._folder is not None and self._file(turn_id).exists()

    def left(self) -> list[str]:
        """The turns that processes with this folder have in hand, or had when they were ended."""
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(file.stem for file in self._folder.glob("*.lock"))

    def _file(self, turn_id: str) -> Path:
        return (self._folder or Path()) / f"{turn_id}.lock"
