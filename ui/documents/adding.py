"""Adding files: choose, check, confirm, index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pipeline.errors import UploadRefused
from pipeline.ingesting import uploads
from pipeline.ingesting.uploads import UploadedFile, UploadLimits
from ui.documents.indexing import is_upload, start_indexing, uploads_folder
from ui.shared import process
from ui.shared.state import kept
from ui.shared.words import files, plain

SHOWN = 20
"""Names, or messages, that are shown of many."""


@dataclass(slots=True)
class UploadRound:
    """How often files were added in this session: each time the uploader is a new, empty one."""

    number: int = 0


def _limits() -> UploadLimits:
    settings = process.athena().settings
    return UploadLimits(
        max_files=settings.max_upload_files,
        max_total_bytes=int(settings.max_upload_mb * uploads.MEGABYTE),
        max_file_bytes=int(settings.max_file_mb * uploads.MEGABYTE),
    )


def add_files(*, busy: bool) -> None:
    """Draw the field for files, and what adding them would do."""
    empty = not process.athena().store.sections.documents()
    with st.expander("Add files", icon=":material/upload_file:", expanded=empty):
        sent = st.file_uploader(
            "Markdown files, or a zip of them", type=["md", "markdown", "zip"], accept_multiple_files=True,
            key=f"uploader-{kept(UploadRound).number}", disabled=busy,
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
        st.text(f"Left out, as they are not Markdown: {', '.join(found.ignored[:SHOWN])}")
    for refused in found.refused[:SHOWN]:
        st.error(plain(refused))
    if len(found.refused) > SHOWN:
        st.error(f"And {files(len(found.refused) - SHOWN)} more.")
    if not found.paths:
        if not found.refused:
            st.error("The upload has no Markdown file. Upload .md or .markdown files, or a zip of them.")
        return
    elsewhere = _indexed_elsewhere(found.paths)
    if elsewhere:
        st.error(
            plain(f"Indexed from another folder already: {', '.join(elsewhere[:SHOWN])}. Rename the files.")
        )
        return
    taken = uploads.collisions(found.paths, uploads_folder())
    replace = False
    if taken:
        replace = st.checkbox(
            plain(f"Replace what was uploaded before: {', '.join(taken[:SHOWN])}"), key="replace-uploads"
        )
    label = f"Add {files(len(found.paths))}"
    if st.button(label, type="primary", disabled=busy or (bool(taken) and not replace), key="add-files"):
        _keep(sent, replace=replace)


def _indexed_elsewhere(paths: Sequence[str]) -> list[str]:
    """Those with the name of a document from another folder: a name stands for one document."""
    others = {
        info.source.casefold() for info in process.athena().store.sections.documents() if not is_upload(info)
    }
    return [path for path in paths if path.casefold() in others]


def _keep(sent: list[UploadedFile], *, replace: bool) -> None:
    folder = uploads_folder()
    try:
        added = uploads.accept(sent, folder, limits=_limits(), replace=replace)
    except UploadRefused as error:
        st.error(plain(str(error)))
        return
    start_indexing(f"Adding {files(len(added.paths))}", [folder])
    kept(UploadRound).number += 1  # an empty uploader next
    st.rerun()
