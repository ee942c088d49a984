"""Work in background threads, which clicks and page changes do not end; one job of a kind at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from ui.shared import messages, process
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport, Progress

log = logging.getLogger(__name__)

INDEXING = "indexing"
LOOK_EVERY = 0.4  # seconds between two polls of the progress
STAGES: Mapping[str, str] = {
    "reading": "Read {done:,} of {total:,}",
    "embedding": "Prepared {share:.0%} of what was read",
    "storing": "Ready to ask: {done:,} of {total:,}",
    "indexing": "Finishing",
}
UNEXPECTED = AthenaError(
    "The work ended unexpectedly.", "Try again. The terminal that runs Athena shows what happened."
)


class Work:
    """Work in a thread, which should end once `stop` is set; `error` is None only after success."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.error: AthenaError | None = UNEXPECTED
        self.stop = threading.Event()
        self._done = threading.Event()

    def start(self, work: Callable[[], None]) -> None:
        """Run `work` in a daemon thread."""
        threading.Thread(target=self._run, args=(work,), name="athena-work", daemon=True).start()

    @property
    def working(self) -> bool:
        """Whether the work is not finished."""
        return not self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until the work ends, at most this long; return whether it ended."""
        return self._done.wait(seconds)

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.error = None
        except AthenaError as error:
            log.warning("%s failed: %s", type(self).__name__, error)
            self.error = error
        finally:  # also after an unexpected error, which Python prints to the terminal
            self._done.set()


class Job(Work):
    """Work with a progress bar for each stage: the share done (0 to 1) and a text, in order of start."""

    def __init__(self, title: str, *, notes: Sequence[str] = ()) -> None:
        super().__init__(title)
        self.notes = notes  # warnings that are shown at the end
        self.bars: dict[str, tuple[float, str]] = {}
        self.report: IngestReport | None = None


class Jobs:
    """The running job of one kind, or the last one until it is dismissed."""

    def __init__(self) -> None:
        self.current: Job | None = None
        self._lock = threading.Lock()

    def start(self, job: Job, work: Callable[[Job], None]) -> bool:
        """Call `work(job)` in a thread; return False, without a call, if another job is still running."""
        with self._lock:
            if self.working:
                return False
            self.current = job
        job.start(lambda: work(job))
        return True

    @property
    def working(self) -> bool:
        """Whether a job is running."""
        return self.current is not None and self.current.working

    def dismiss(self) -> None:
        """Remove the job if it is finished."""
        if not self.working:
            self.current = None


@st.cache_resource(show_spinner=False)
def _all_jobs() -> dict[str, Jobs]:
    return {}


def jobs(kind: str = INDEXING) -> Jobs:
    """Return the jobs of a kind, which all sessions of this process share."""
    return _all_jobs().setdefault(kind, Jobs())


def index(title: str, ingest: Callable[..., IngestReport], *, notes: Sequence[str] = ()) -> bool:
    """Start `ingest` as a background job; return False if an indexing job is already running."""

    def work(job: Job) -> None:
        def note(now: Progress) -> None:
            share = min(1.0, now.done / now.total) if now.total else 0.0
            name = f": {now.document}" if now.document and share < 1 else ""
            text = STAGES[now.stage].format(done=now.done, total=now.total, share=share)
            job.bars[now.stage] = share, f"{text}{name}"

        job.report = ingest(on_progress=note, should_stop=job.stop.is_set)

    return jobs().start(Job(title, notes=notes), work)


def index_corpus() -> None:
    """Start to index the configured corpus in the background; no page needs to be open."""

    def ingest(**watched: object) -> IngestReport:
        athena = process.opened()
        return athena.ingest([athena.settings.corpus], **watched)  # type: ignore[arg-type]

    index("Indexing the documents", ingest)


def show_job(busy: bool, *, on_end: Callable[[Job], None], kind: str = INDEXING) -> None:
    """Draw the progress of the job of a kind with a Stop button; after success, `on_end` draws its result.

    `busy` says whether a job ran when the page was drawn: if so, its end draws the whole page again.
    """
    st.fragment(_progress, run_every=LOOK_EVERY if busy else None)(busy, kind, on_end)


@messages.shown
def _progress(busy: bool, kind: str, on_end: Callable[[Job], None]) -> None:
    job = jobs(kind).current
    if busy and not jobs(kind).working:
        st.rerun()
    if job is None:
        return
    with st.container(border=True, key=f"job-{kind}"):
        if job.working:
            for share, text in [*job.bars.values()] or [(0.0, f"{job.title} …")]:
                st.progress(share, text=plain(text))
            label = "Stopping …" if job.stop.is_set() else "Stop"
            st.button(label, icon=":material/stop_circle:", disabled=job.stop.is_set(), key=f"stop-{kind}",
                      on_click=job.stop.set)  # fmt: skip
            return
        if job.error:
            messages.show_error(job.error.problem, job.error.fix)
        else:
            on_end(job)
        for note in job.notes:
            st.warning(plain(note))
        if st.button("Close", key=f"close-{kind}"):
            jobs(kind).dismiss()
            st.rerun()
