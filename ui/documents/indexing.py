"""Indexing as the page shows it: start, progress and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.ingest import left_out_summary
from pipeline.words import counted
from ui.shared import messages, process
from ui.shared.jobs import Job, jobs
from ui.shared.uploading import uploads_folder
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from pipeline.stores.base import DocumentInfo

SHOWN = 20  # files, or messages, that are shown of many
RUNNING = "Indexing is still running. Wait for it, or cancel it first."
STAGES = {
    "renewing": "Embedding everything again, as the index is outdated:",
    "reading": "Reading",
    "embedding": "Embedding",
    "storing": "Storing",
    "indexing": "Making the search index",
    "relating": "Reading names and relations",
}


def start_indexing(title: str, work: Callable[..., IngestReport]) -> None:
    """Index in the background, unless another job is running; see `Job`."""
    if not jobs().start(title, work):
        st.toast(RUNNING)


def index_again(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    """Draw the button that reads the known folders again."""
    folder = uploads_folder(process.athena())
    roots = {Path(info.root) for info in documents} | {folder.resolve()}
    folders = sorted(root for root in roots if root.is_dir())
    work = partial(process.athena().ingest, folders)
    st.button("Look for changes", icon=":material/sync:", disabled=busy or not folders, key="reindex",
              on_click=start_indexing, args=("Looking for changes", work))  # fmt: skip


@messages.shown
def progress(busy: bool) -> None:
    """Draw the job at work, or the result of the last one; `busy` is what the page was drawn for."""
    if busy and not jobs().working:
        st.rerun()  # the rest of the page shows what came of it
    job = jobs().current
    if job is None:
        return
    with st.container(border=True, key="job"):
        if job.working:
            _working(job)
            st.button("Cancel", icon=":material/stop_circle:", disabled=job.stopping, key="cancel-job",
                      on_click=job.cancel)  # fmt: skip
            return
        if job.error:
            messages.show_error(job.error.problem, job.error.fix)
        if job.report:
            _finished(job.report)
        if st.button("Close", key="close-job"):
            jobs().dismiss()
            st.rerun()


def _working(job: Job) -> None:
    if job.stopping:
        st.text("Stopping after this document …")
        return
    if not job.progress:
        st.progress(0.0, text=f"{job.title} …")
    for stage in [*job.progress.values()]:  # they overlap: a bar each
        share = min(1.0, stage.done / stage.total) if stage.total else 0.0
        name = f": {stage.document}" if stage.document and share < 1 else ""
        label = STAGES.get(stage.stage, stage.stage)
        st.progress(share, text=plain(f"{label} {stage.done:,} of {stage.total:,}{name}"))


def _finished(report: IngestReport) -> None:
    st.text(summary(report))
    if left_out := left_out_summary(report.left_out):
        st.text(f"Left out: {left_out}.")
    for warning in report.warnings:
        st.warning(plain(warning))
    for problem in report.problems[:SHOWN]:
        st.warning(plain(f"{problem.source}: {problem.reason}. {problem.fix}"), icon=":material/error:")


def summary(report: IngestReport) -> str:
    """Return the result of an ingest in one line."""
    counts = {"added": report.added, "changed": report.changed, "deleted": report.deleted}
    parts = [f"{counted(len(sources), 'document')} {word}" for word, sources in counts.items() if sources]
    done = ", ".join(parts) or "Nothing was new"
    if report.stopped:
        return f"Cancelled. {done}. Look for changes to go on."
    renewed = "Everything was embedded again. " if report.outdated else ""
    return f"{renewed}{done}. {counted(len(report.unchanged), 'document')} unchanged. {report.seconds:.1f} s."
