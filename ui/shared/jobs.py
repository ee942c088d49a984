"""Indexing in the background: one job at a time, its progress kept for any page that looks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from ui.shared import process

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport, Progress

log = logging.getLogger(__name__)

LOOK_EVERY = 0.3  # seconds between two looks at the progress
UNEXPECTED = AthenaError(
    "It ended unexpectedly.", "Start it again. The terminal that runs Athena shows what happened."
)


class Job:
    """Indexing in a thread, which can be cancelled; `work` is called with on_progress= and should_stop=."""

    def __init__(self, title: str, work: Callable[..., IngestReport]) -> None:
        self.title = title
        self.progress: dict[str, Progress] = {}  # the last of each stage, in the order in which they began
        self.report: IngestReport | None = None
        self.error: AthenaError | None = None
        self._work = work
        self._stop = threading.Event()
        self._done = threading.Event()

    def start(self) -> None:
        """Start working."""
        threading.Thread(target=self._run, name="athena-job", daemon=True).start()

    @property
    def working(self) -> bool:
        """Whether it goes on."""
        return not self._done.is_set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop, and goes on."""
        return self.working and self._stop.is_set()

    def cancel(self) -> None:
        """Ask it to stop; what is finished stays."""
        self._stop.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return False where it did not come in time."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self.report = self._work(on_progress=self._note, should_stop=self._stop.is_set)
        except AthenaError as error:
            log.warning("%s failed: %s", self.title, error)
            self.error = error
        finally:  # also after an unexpected error, which goes on to the log
            self.error = self.error or (None if self.report else UNEXPECTED)
            self._done.set()

    def _note(self, progress: Progress) -> None:
        self.progress[progress.stage] = progress


class Jobs:
    """One job at a time: a second one is refused."""

    def __init__(self) -> None:
        self.current: Job | None = None  # the running job, or the last one until it is dismissed
        self._lock = threading.Lock()

    def start(self, title: str, work: Callable[..., IngestReport]) -> bool:
        """Start a job; return False where another is still running."""
        with self._lock:
            if self.working:
                return False
            self.current = Job(title, work)
        self.current.start()
        return True

    @property
    def working(self) -> bool:
        """Whether a job is running."""
        return self.current is not None and self.current.working

    def dismiss(self) -> None:
        """Forget a finished job."""
        if not self.working:
            self.current = None


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """Return the indexing job of this process."""
    return Jobs()


def index_corpus() -> None:
    """Index the corpus of the settings in the background, before anybody has opened a page."""

    def work(**watched: object) -> IngestReport:
        athena = process.opened()
        return athena.ingest([athena.settings.corpus], **watched)  # type: ignore[arg-type]

    jobs().start("Indexing the documents", work)
