"""Indexing in the background: one job at a time, its progress kept for any page that looks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport, Problem, Progress

log = logging.getLogger(__name__)

Ingest = Callable[..., "IngestReport"]  # called with on_progress= and should_stop=


@dataclass(frozen=True, slots=True)
class JobState:
    """One moment of a job."""

    title: str
    working: bool
    stopping: bool
    progress: tuple[Progress, ...]  # the last of each stage, in the order in which they began
    report: IngestReport | None
    error: AthenaError | None


class Job:
    """One ingest in a thread, which can be cancelled between documents."""

    def __init__(self, title: str, work: Ingest, problems: dict[str, Problem]) -> None:
        self.title = title
        self._work = work
        self._problems = problems
        self._stop = threading.Event()
        self._done = threading.Event()
        self._progress: dict[str, Progress] = {}
        self._report: IngestReport | None = None
        self._error: AthenaError | None = None
        self._watched_in: set[object] = set()  # the visits in which somebody saw it at work
        self._read_in: set[object] = set()  # and those in which somebody read its result
        self._thread = threading.Thread(target=self._run, name="ingest", daemon=True)

    def start(self) -> None:
        """Start working."""
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; finished documents stay."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False where it did not come in time."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._report = self._work(on_progress=self._note, should_stop=self._stop.is_set)
            self._problems.update((problem.source, problem) for problem in self._report.problems)
        except AthenaError as error:
            log.warning("indexing failed: %s", error)
            self._error = error
        finally:
            self._done.set()

    def watch(self, visit: object) -> None:
        """Note that somebody sees it at work: whoever waits for its result is told it."""
        self._watched_in.add(visit)

    def is_news(self, visit: object) -> bool:
        """Whether its result is shown for the first time, or in a visit that waited for it or showed it."""
        if not self._read_in or visit in self._watched_in:
            self._read_in.add(visit)
        return visit in self._read_in

    def _note(self, progress: Progress) -> None:
        self._progress[progress.stage] = progress

    def state(self) -> JobState:
        """What there is so far."""
        done = self._done.is_set()
        error = self._error
        if done and error is None and self._report is None:
            error = AthenaError(
                "Indexing ended unexpectedly.",
                "Index again; the terminal that runs Athena shows what happened.",
            )
        return JobState(
            title=self.title,
            working=not done,
            stopping=self._stop.is_set() and not done,
            progress=tuple(self._progress.copy().values()),
            report=self._report,
            error=error,
        )


class Jobs:
    """One job at a time: a second one is refused."""

    def __init__(self) -> None:
        self._job: Job | None = None
        self._problems: dict[str, Problem] = {}
        self._lock = threading.Lock()

    def start(self, title: str, work: Ingest) -> bool:
        """Start a job; False where another is still running."""
        with self._lock:
            if self.working:
                return False
            self._job = Job(title, work, self._problems)
        self._job.start()
        return True

    @property
    def current(self) -> Job | None:
        """The running job, or the last one until it is dismissed."""
        return self._job

    @property
    def working(self) -> bool:
        """Whether a job is running."""
        return self._job is not None and self._job.state().working

    def problem_of(self, source: str) -> Problem | None:
        """What was wrong with a document when it was read last; None where it was not since the start."""
        return self._problems.get(source)

    def dismiss(self) -> None:
        """Forget a finished job."""
        with self._lock:
            if not self.working:
                self._job = None


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The indexing job of this process."""
    return Jobs()
