"""Indexing and the folder of uploads as the page shows them: start, progress, result, and indexing again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.reading import UPLOADS, kept_in
from pipeline.ingest import left_out_summary
from pipeline.words import counted
from ui.shared import messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.jobs import job_box, jobs
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from pipeline.stores.base import DocumentInfo
    from ui.shared.jobs import JobState

SHOWN = 20
"""Converted files, or messages, that are shown of many."""
STAGES = {
    "renewing": "Embedding everything again, as the index is outdated:",
    "reading": "Reading",
    "embedding": "Embedding",
    "storing": "Storing",
    "indexing": "Making the search index",
    "relating": "Reading names and relations",
}


def uploads_folder() -> Path:
    """Where uploaded files are kept."""
    return Path(process.athena().settings.data_dir) / UPLOADS


def is_upload(info: DocumentInfo) -> bool:
    """Whether a document was uploaded."""
    return kept_in(process.athena().settings, info) is not None


@messages.noticed
def start_indexing(title: str, folders: Sequence[Path | str], *, rebuild: bool = False) -> None:
    """Index folders in the background, unless another job is running."""
    athena = process.athena()
    started = jobs().start(
        title,
        lambda on_progress, should_stop: athena.ingest(
            folders, on_progress=on_progress, should_stop=should_stop, rebuild=rebuild
        ),
    )
    if not started:
        st.toast("Indexing is still running. Wait for it, or cancel it first.")


def index_corpus() -> None:
    """Index the corpus in the background, before anybody has opened a page."""

    def work(**watched: Any) -> IngestReport:
        athena = process.opened()
        return athena.ingest([athena.settings.corpus], **watched)

    jobs().start("Indexing the documents", work)


@messages.shown
def progress(busy: bool) -> None:
    """Draw the job at work, or the result of the last one; `busy` is what the page was drawn for."""
    stopping = "Stopping after this document …"
    job_box(jobs(), busy=busy, stages=STAGES, stopping=stopping, finished=_finished)


def _finished(now: JobState[IngestReport]) -> None:
    if now.report:
        st.text(summary(now.report))
        if left_out := left_out_summary(now.report.left_out):
            st.text(f"Left out: {left_out}.")
        for warning in now.report.warnings:
            st.warning(plain(warning))
        for problem in now.report.problems:
            st.warning(plain(f"{problem.source}: {problem.reason}. {problem.fix}"), icon=":material/error:")


def summary(report: IngestReport) -> str:
    """The result of an ingest in one line."""
    if report.stopped:
        return _cancelled(report)
    counts = {"added": report.added, "changed": report.changed, "deleted": report.deleted}
    parts = [f"{counted(len(sources), 'document')} {word}" for word, sources in counts.items() if sources]
    what = ", ".join(parts) or "Nothing was new"
    if report.outdated:
        what = f"Everything was embedded again: the index was made with {report.outdated}. {what}"
    return f"{what}. {counted(len(report.unchanged), 'document')} unchanged. {report.seconds:.1f} s."


def _cancelled(report: IngestReport) -> str:
    """What a run did before it was cancelled, and what is left."""
    new = len(report.added) + len(report.changed)
    if report.rebuilt:
        return (
            f"Cancelled after {new} of {counted(report.total, 'document')}. The index is searched as it was; "
            "the next rebuild goes on from there."
        )
    left = report.total - new - len(report.unchanged) - len(report.problems)
    done = f"{counted(new, 'document')} added or changed before it stay" if new else "nothing was added"
    gone = f", {counted(len(report.deleted), 'document')} deleted" if report.deleted else ""
    return f"Cancelled: {done}{gone}. {counted(max(0, left), 'document')} left: index again to go on."


def index_again(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    """Draw the buttons that index the known folders again."""
    folders = _folders(documents)
    if not documents and (busy or not folders):
        return
    with st.container(horizontal=True):
        st.button("Index again what changed", icon=":material/sync:", disabled=busy or not folders,
                  key="reindex", on_click=start_indexing, args=("Indexing again", folders))  # fmt: skip
        st.button("Rebuild everything", icon=":material/restart_alt:", disabled=busy or not folders,
                  key="rebuild", on_click=open_dialog,
                  args=("Rebuild everything?", partial(_confirm_rebuild, documents, folders)))  # fmt: skip


def _confirm_rebuild(documents: Sequence[DocumentInfo], folders: Sequence[Path]) -> None:
    """Ask before everything is embedded again."""
    sentences = counted(sum(info.sentences for info in documents), "sentence")
    st.text(f"{counted(len(documents), 'document')} will be read and {sentences} embedded again.")
    st.text("The index is searched as it is until that is done, and you can cancel it.")
    if messages.confirmed(no="Leave it", yes="Rebuild", key="rebuild"):
        start_indexing("Rebuilding", folders, rebuild=True)
        end_dialog()


def _folders(documents: Sequence[DocumentInfo]) -> list[Path]:
    """The documents' folders, and that of the uploads: a cancelled upload may have indexed no file."""
    roots = {Path(info.root) for info in documents}
    if uploads_folder().is_dir() and any(uploads_folder().iterdir()):
        roots.add(uploads_folder().resolve())
    return sorted(root for root in roots if root.is_dir())
