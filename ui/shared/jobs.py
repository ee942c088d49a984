"""Work in the background, such as indexing: one job at a time, its progress kept for any page that looks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import streamlit as st

from pipeline.errors import AthenaError
from ui.shared.state import visit
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from readers.errors import ReaderError

log = logging.getLogger(__name__)

LOOK_EVERY = 0.3  # seconds between two looks at the progress
Report = TypeVar("Report")


class Progress(Protocol):
    """How far one stage of a job is: what is done of all, and at what it is."""

    @property
    def stage(self) -> str:
        """Its name."""

    @property
    def done(self) -> int:
        """How much is done."""

    @property
    def total(self) -> int:
        """Of how much."""

    @property
    def document(self) -> str:
        """At what it is; may be empty."""


@dataclass(frozen=True, slots=True)
class JobState(Generic[Report]):
    """One moment of a job."""

    title: str
    working: bool
    stopping: bool
    progress: tuple[Progress, ...]  # the last of each stage, in the order in which they began
    report: Report | None
    error: AthenaError | None


class Job(Generic[Report]):
    """Work in a thread, which can be cancelled; it is called with on_progress= and should_stop=."""

    def __init__(self, title: str, work: Callable[..., Report], ended: Callable[[Report], None]) -> None:
        self.title = title
        self._work = work
        self._ended = ended
        self._stop = threading.Event()
        self._done = threading.Event()
        self._progress: dict[str, Progress] = {}
        self._report: Report | None = None
        self._error: AthenaError | None = None
        self._watched_in: set[object] = set()  # the visits in which somebody saw it at work
        self._read_in: set[object] = set()  # and those in which somebody read its result
        self._thread = threading.Thread(target=self._run, name="athena-job", daemon=True)

    def start(self) -> None:
        """Start working."""
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; what is finished stays."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; False where it did not come in time."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self._report = self._work(on_progress=self._note, should_stop=self._stop.is_set)
            self._ended(self._report)
        except AthenaError as error:
            log.warning("%s failed: %s", self.title, error)
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

    def state(self) -> JobState[Report]:
        """What there is so far."""
        done = self._done.is_set()
        error = self._error
        if done and error is None and self._report is None:
            error = AthenaError(
                f"“{self.title}” ended unexpectedly.",
                "Start it again; the terminal that runs Athena shows what happened.",
            )
        return JobState(
            title=self.title,
            working=not done,
            stopping=self._stop.is_set() and not done,
            progress=tuple(self._progress.copy().values()),
            report=self._report,
            error=error,
        )


class Jobs(Generic[Report]):
    """One job at a time: a second one is refused."""

    def __init__(self) -> None:
        self._job: Job[Report] | None = None
        self._lock = threading.Lock()

    def start(self, title: str, work: Callable[..., Report]) -> bool:
        """Start a job; False where another is still running."""
        with self._lock:
            if self.working:
                return False
            self._job = Job(title, work, self._ended)
        self._job.start()
        return True

    def _ended(self, report: Report) -> None:
        """What is kept of a report beyond its job: nothing."""

    @property
    def current(self) -> Job[Report] | None:
        """The running job, or the last one until it is dismissed."""
        return self._job

    @property
    def working(self) -> bool:
        """Whether a job is running."""
        return self._job is not None and self._job.state().working

    def dismiss(self) -> None:
        """Forget a finished job."""
        with self._lock:
            if not self.working:
                self._job = None


class IngestJobs(Jobs["IngestReport"]):
    """Indexing, and what was wrong with documents."""

    def __init__(self) -> None:
        super().__init__()
        self._problems: dict[str, ReaderError] = {}

    def _ended(self, report: IngestReport) -> None:
        self._problems.update((problem.source, problem) for problem in report.problems)

    def problem_of(self, source: str) -> ReaderError | None:
        """What was wrong with a document when it was read last; None where it was not since the start."""
        return self._problems.get(source)


@st.cache_resource(show_spinner=False)
def jobs() -> IngestJobs:
    """The indexing job of this process."""
    return IngestJobs()


def job_box(
    of: Jobs[Report],
    *,
    busy: bool,
    stages: Mapping[str, str],
    stopping: str,
    finished: Callable[[JobState[Report]], None],
) -> None:
    """Draw the job at work, or the result of the last one; `busy` is what the page was drawn for.

    `stages` names the stages, `stopping` says what is waited for after a cancel, `finished` draws the result.
    """
    if busy and not of.working:
        st.rerun()  # the rest of the page shows what came of it
    job = of.current
    if job is None:
        return
    now = job.state()
    if now.working:
        job.watch(visit())
    elif not job.is_news(visit()):
        return
    with st.container(border=True, key="job"):
        if now.working:
            _working(now, stages, stopping)
            if st.button("Cancel", icon=":material/stop_circle:", disabled=now.stopping, key="cancel-job"):
                job.cancel()
            return
        if now.error:
            st.error(plain(str(now.error)))
        finished(now)
        if st.button("Close", key="close-job"):
            of.dismiss()
            st.rerun()


def _working(now: JobState[Report], stages: Mapping[str, str], stopping: str) -> None:
    if now.stopping:
        st.text(stopping)
        return
    if not now.progress:
        st.progress(0.0, text=f"{now.title} …")
    for stage in now.progress:  # they overlap: a bar each
        share = min(1.0, stage.done / stage.total) if stage.total else 0.0
        name = f": {stage.document}" if stage.document and share < 1 else ""
        label = stages.get(stage.stage, stage.stage)
        st.progress(share, text=plain(f"{label} {stage.done:,} of {stage.total:,}{name}"))
