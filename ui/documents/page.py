"""Documents: what is indexed, one file to read, uploads, deletion and indexing again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.errors import AthenaError, ManifestMismatch, UnknownDocument, UploadRefused
from pipeline.ingesting import uploads
from pipeline.ingesting.uploads import UploadedFile, UploadLimits
from pipeline.stores.manifest import check_manifest
from ui.shared import components, state, style
from ui.shared.markdown_tree import markdown_tree
from ui.shared.words import FIRST_FILES, files, plain

if TYPE_CHECKING:
    from pipeline.ingest import IngestReport
    from pipeline.stores.base import DocumentInfo
    from ui.documents.jobs import JobState

UPLOADS = "uploads"  # the folder's name in the data folder
LOOK_EVERY = 0.3  # seconds between two looks at the progress
ROUND = "upload_round"
NOTHING_YET = "Nothing is indexed yet. Add Markdown files below, or run: athena ingest FOLDER"
STAGES = {
    "renewing": "Embedding everything again, as the index is outdated:",
    "reading": "Reading",
    "embedding": "Embedding",
    "storing": "Storing",
    "indexing": "Making the search index",
}


def page() -> None:
    """The page as Streamlit runs it."""
    style.apply()
    with st.container(key="page"):
        st.header("Documents", anchor=False)
        documents = state.athena().store.sections.documents()
        busy = state.jobs().working
        _overview(documents, busy=busy)
        with st.container(key="progress"):  # always there: what comes and goes in it moves nothing below it
            st.fragment(_progress, run_every=LOOK_EVERY if busy else None)()
        _add(busy=busy)
        _listed(documents, busy=busy)


def _overview(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    if not documents:
        st.text(FIRST_FILES if busy else NOTHING_YET)
        return
    manifest = state.athena().store.sections.manifest()
    with st.container(horizontal=True, gap="large"):
        st.metric("Files", f"{len(documents):,}", width="content")
        st.metric("Sections", f"{sum(info.sections for info in documents):,}", width="content")
        st.metric("Sentences", f"{sum(info.sentences for info in documents):,}", width="content")
    try:
        check_manifest(manifest, state.athena().manifest)
    except ManifestMismatch as error:
        st.warning(plain(str(error)), icon=":material/sync_problem:")
    if manifest:
        st.caption(f"Embedded with {manifest.embedding_model}, {manifest.dimensions} dimensions.")


def uploads_folder() -> Path:
    """Where uploaded files are kept."""
    return Path(state.athena().settings.data_dir) / UPLOADS


def _limits() -> UploadLimits:
    settings = state.athena().settings
    return UploadLimits(
        max_files=settings.max_upload_files,
        max_total_bytes=int(settings.max_upload_mb * uploads.MEGABYTE),
        max_file_bytes=int(settings.max_file_mb * uploads.MEGABYTE),
    )


def _add(*, busy: bool) -> None:
    with st.expander(
        "Add files", icon=":material/upload_file:", expanded=not state.athena().store.sections.documents()
    ):
        turn = st.session_state.get(ROUND, 0)
        sent = st.file_uploader(
            "Markdown files, or a zip of them", type=["md", "markdown", "zip"], accept_multiple_files=True,
            key=f"uploader-{turn}", disabled=busy,
        )  # fmt: skip
        if not sent:
            return
        uploaded = [UploadedFile(file.name, file.getvalue()) for file in sent]
        try:
            found = uploads.inspect(uploaded, uploads_folder(), limits=_limits())
        except UploadRefused as error:
            st.error(plain(str(error)))
            return
        _confirm(uploaded, found, busy=busy)


def _confirm(sent: list[UploadedFile], found: uploads.Accepted, *, busy: bool) -> None:
    if found.ignored:
        st.text(f"Left out, as they are no Markdown: {', '.join(found.ignored[:20])}")
    if not found.paths:
        st.error("The upload has no Markdown file. Upload .md or .markdown files, or a zip of them.")
        return
    elsewhere = _indexed_elsewhere(found.paths)
    if elsewhere:
        st.error(
            plain(f"Indexed from another folder already: {', '.join(elsewhere[:20])}. Rename the files.")
        )
        return
    taken = uploads.collisions(found.paths, uploads_folder())
    replace = False
    if taken:
        replace = st.checkbox(
            plain(f"Replace what was uploaded before: {', '.join(taken[:20])}"), key="replace-uploads"
        )
    label = f"Add {files(len(found.paths))}"
    if st.button(label, type="primary", disabled=busy or (bool(taken) and not replace), key="add-files"):
        _keep(sent, replace=replace)


def _indexed_elsewhere(paths: Sequence[str]) -> list[str]:
    """Those that a document of another folder has the name of: one name, one document."""
    others = {
        info.source.casefold() for info in state.athena().store.sections.documents() if not _is_upload(info)
    }
    return [path for path in paths if path.casefold() in others]


def _is_upload(info: DocumentInfo) -> bool:
    return info.root == str(uploads_folder().resolve())


def _keep(sent: list[UploadedFile], *, replace: bool) -> None:
    folder = uploads_folder()
    try:
        kept = uploads.accept(sent, folder, limits=_limits(), replace=replace)
    except UploadRefused as error:
        st.error(plain(str(error)))
        return
    _start(f"Adding {files(len(kept.paths))}", [folder])
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1  # an empty uploader next
    st.rerun()


def _start(title: str, folders: Sequence[Path], *, rebuild: bool = False) -> None:
    athena = state.athena()
    started = state.jobs().start(
        title,
        lambda on_progress, should_stop: athena.ingest(
            folders, on_progress=on_progress, should_stop=should_stop, rebuild=rebuild
        ),
    )
    if not started:
        st.toast("Indexing is still at work. Wait for it, or cancel it first.")


def _progress() -> None:
    """The job at work, or what the last one came to."""
    job = state.jobs().current
    if job is None:
        return
    now = job.state()
    with st.container(border=True, key="job"):
        if now.working:
            _working(now)
            if st.button("Cancel", icon=":material/stop_circle:", disabled=now.stopping, key="cancel-job"):
                job.cancel()
            st.session_state["watching"] = True
            return
        _finished(now)
        if st.button("Close", key="close-job"):
            state.jobs().dismiss()
            st.rerun()
    if st.session_state.pop("watching", None):
        st.rerun()  # once: the table below shows what was indexed


def _working(now: JobState) -> None:
    if now.stopping:
        st.progress(1.0, text="Stopping after this document …")
        return
    if not now.progress:
        st.progress(0.0, text=f"{now.title} …")
    for progress in now.progress:  # stages overlap: a bar each
        share = min(1.0, progress.done / progress.total) if progress.total else 0.0
        name = f": {progress.document}" if progress.document and share < 1 else ""
        stage = STAGES.get(progress.stage, progress.stage)
        st.progress(share, text=plain(f"{stage} {progress.done:,} of {progress.total:,}{name}"))


def _finished(now: JobState) -> None:
    if now.error:
        st.error(plain(str(now.error)))
    if now.report:
        st.text(summary(now.report))
        for problem in now.report.problems:
            st.warning(plain(f"{problem.source}: {problem.reason} {problem.fix}"), icon=":material/error:")


def summary(report: IngestReport) -> str:
    """What an ingest came to, in one line."""
    counts = {"added": report.added, "changed": report.changed, "deleted": report.deleted}
    parts = [f"{files(len(sources))} {word}" for word, sources in counts.items() if sources]
    what = ", ".join(parts) or "Nothing was new"
    ended = " Cancelled: what was done before stays." if report.stopped else ""
    if report.outdated:
        what = f"Everything was embedded again: the index was made with {report.outdated}. {what}"
    return f"{what}. {files(len(report.unchanged))} unchanged. {report.seconds:.1f} s.{ended}"


def _listed(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    _index_again(documents, busy=busy)
    if not documents:
        return
    sent = components.files(
        key="files",
        data={"files": [_row(info) for info in documents], "busy": busy},
        on_open_change=lambda: None,
        on_remove_change=lambda: None,
    )
    if sent.open:
        source = str(sent.open["source"])
        st.dialog(plain(source), width="large")(_read)(source)
    elif sent.remove:
        confirm_removal(str(sent.remove["source"]))


def _row(info: DocumentInfo) -> dict[str, Any]:
    indexed = datetime.fromtimestamp(info.indexed_at).astimezone()
    return {
        "source": info.source,
        "title": info.title or info.source,
        "sections": info.sections,
        "sentences": info.sentences,
        "indexed": indexed.strftime("%Y-%m-%d %H:%M"),
    }


def _index_again(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    folders = _folders(documents)
    if not documents and (busy or not folders):
        return
    with st.container(horizontal=True):
        if st.button(
            "Index again what changed", icon=":material/sync:", disabled=busy or not folders, key="reindex"
        ):
            _start("Indexing again", folders)
            st.rerun()
        if st.button(
            "Rebuild everything", icon=":material/restart_alt:", disabled=busy or not folders, key="rebuild"
        ):
            _start("Rebuilding", folders, rebuild=True)
            st.rerun()


def _folders(documents: Sequence[DocumentInfo]) -> list[Path]:
    """Those that documents were read from, and that of the uploads: after a cancelled one none is indexed."""
    roots = {Path(info.root) for info in documents}
    if uploads_folder().is_dir() and any(uploads_folder().iterdir()):
        roots.add(uploads_folder().resolve())
    return sorted(root for root in roots if root.is_dir())


@st.dialog("Delete this file?")
def confirm_removal(source: str) -> None:
    """Ask before a document leaves the index."""
    documents = {info.source: info for info in state.athena().store.sections.documents()}
    info = documents.get(source)
    if info is None:
        st.text("It is not indexed any more.")
        return
    st.text(f"{source} will be taken out of the index, and no answer will rest on it.")
    if not _is_upload(info):
        st.text("The file itself stays where it is, and comes back when its folder is indexed again.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="keep-file"):
            st.rerun()
        if st.button("Delete", type="primary", key="delete-file"):
            _remove(info)
            st.rerun()


def _remove(info: DocumentInfo) -> None:
    try:
        state.athena().delete_document(info.source)
    except AthenaError as error:
        st.toast(plain(str(error)))
        return
    if _is_upload(info):
        uploads.remove(info.source, uploads_folder())


def _read(source: str) -> None:
    """One file, rendered."""
    try:
        document = state.athena().store.sections.document(source)
    except UnknownDocument:
        st.text("It is not indexed any more.")
        return
    components.document(key="document", data={"tree": markdown_tree(document.text)})
