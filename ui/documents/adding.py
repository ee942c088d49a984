"""Adding documents: upload files, look for changes in the known folders, and show the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from athena.reading import MAX_UPLOAD_MB
from pipeline.errors import AthenaError
from pipeline.ingest import left_out_summary
from pipeline.ingesting.uploads import Accepted, UploadedFile
from pipeline.words import counted
from readers.formats import FORMATS
from ui.shared import messages, process
from ui.shared.jobs import Job, index
from ui.shared.uploading import TYPES, index_kept, keep_files, uploads_folder
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from pipeline.stores.base import DocumentInfo

TITLES = [known.title for known in FORMATS]
WHAT = f"{', '.join(TITLES[:-1])} or {TITLES[-1]} files, up to {MAX_UPLOAD_MB} MB each"
SHOWN = 20  # most messages shown of one kind
RUNNING = "Documents are still being indexed. Wait until that is done, or stop it first."


def add_files(*, busy: bool, expanded: bool) -> None:
    """Draw the form that adds files."""
    with st.expander("Add files", icon=":material/upload_file:", expanded=expanded):
        with st.form("add", border=False, clear_on_submit=True):
            sent = st.file_uploader(f"Drop files here: {WHAT}", type=TYPES, key="uploader",
                                    accept_multiple_files=True, disabled=busy)  # fmt: skip
            added = st.form_submit_button("Add", type="primary", disabled=busy, key="add-files")
        if added and sent:
            _add([UploadedFile(file.name, file.getvalue()) for file in sent])


def _add(sent: list[UploadedFile]) -> None:
    try:
        kept = keep_files(process.athena(), sent)
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    ingest = partial(index_kept, process.athena(), kept.paths)
    start_indexing(f"Adding {counted(len(kept.paths), 'file')}", ingest, notes=_left_out(kept))
    st.rerun()


def _left_out(kept: Accepted) -> Sequence[str]:
    """Return the messages about refused files: the first `SHOWN`, and how many more there are."""
    more = len(kept.refused) - SHOWN
    return [*kept.refused[:SHOWN], *([f"And {counted(more, 'file')} more."] if more > 0 else [])]


def start_indexing(title: str, ingest: Callable[..., IngestReport], *, notes: Sequence[str] = ()) -> None:
    """Start indexing in the background; show a message if an indexing job is already running."""
    if not index(title, ingest, notes=notes):
        st.toast(RUNNING)


def index_again(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    """Draw the button that indexes the known folders again; it is disabled if none exists."""
    roots = {*map(Path, {info.root for info in documents})} | {uploads_folder(process.athena()).resolve()}
    folders = sorted(root for root in roots if root.is_dir())
    ingest = partial(process.athena().ingest, folders)
    st.button("Look for changes", icon=":material/sync:", disabled=busy or not folders, key="reindex",
              on_click=start_indexing, args=("Looking for changes", ingest))  # fmt: skip


def finished(job: Job) -> None:
    """Draw the result of an ingest; of the problems, at most `SHOWN`."""
    report = job.report
    if report is None:
        return
    st.text(summary(report))
    if left_out := left_out_summary(report.left_out):
        st.text(f"Left out: {left_out}.")
    for warning in report.warnings:
        st.warning(plain(warning))
    for problem in report.problems[:SHOWN]:
        st.warning(plain(f"{problem.source}: {problem.reason}. {problem.fix}"), icon=":material/error:")
    if (more := len(report.problems) - SHOWN) > 0:
        st.text(f"{more:,} more could not be read. `athena ingest` names all of them.")


def summary(report: IngestReport) -> str:
    """Return the result of an ingest in one line."""
    counts = {word: getattr(report, word) for word in ("added", "changed", "deleted", "unchanged")}
    parts = [f"{counted(len(sources), 'document')} {word}" for word, sources in counts.items() if sources]
    done = ", ".join(parts) or "Nothing was added"
    if report.stopped:
        return f"Stopped. {done}. To go on, choose “Look for changes”."
    return f"{done}. {report.seconds:.1f} s."
