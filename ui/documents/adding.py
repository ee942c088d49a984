"""Adding documents: choose files, check, confirm, index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from athena.reading import changing_files, upload_limits
from pipeline.errors import AthenaError
from pipeline.ingesting import uploads
from pipeline.ingesting.uploads import UploadedFile
from pipeline.words import counted
from readers.formats import FORMATS, INSTALL, format_of
from ui.documents.indexing import SHOWN, start_indexing, uploads_folder
from ui.shared import process
from ui.shared.state import kept
from ui.shared.words import plain

TYPES = [suffix.removeprefix(".") for known in FORMATS for suffix in known.suffixes]
TITLES = [known.title for known in FORMATS]
WHAT = f"{', '.join(TITLES[:-1])} or {TITLES[-1]} files, or a zip of them"


@dataclass(slots=True)
class UploadRound:
    """How often files were added in this session: each time the uploader is a new, empty one."""

    number: int = 0


def add_files(*, busy: bool) -> None:
    """Draw the field for files, and what adding them would do."""
    empty = not process.athena().store.sections.documents()
    with st.expander("Add files", icon=":material/upload_file:", expanded=empty):
        sent = st.file_uploader(
            f"Drop files here: {WHAT}", type=[*TYPES, "zip"], accept_multiple_files=True,
            key=f"uploader-{kept(UploadRound).number}", disabled=busy,
        )  # fmt: skip
        if sent:
            _add([UploadedFile(file.name, file.getvalue()) for file in sent], busy=busy)


def _add(uploaded: list[UploadedFile], *, busy: bool) -> None:
    try:
        found = uploads.inspect(uploaded, limits=upload_limits(process.athena().settings))
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    _confirm(uploaded, found, busy=busy)


def _confirm(sent: list[UploadedFile], found: uploads.Accepted, *, busy: bool) -> None:
    _say_ignored(found.ignored)
    for refused in found.refused[:SHOWN]:
        st.error(plain(refused))
    if len(found.refused) > SHOWN:
        st.error(f"And {counted(len(found.refused) - SHOWN, 'file')} more.")
    if not found.paths:
        if not found.refused:
            st.error(plain(f"The upload has no file that can be read. Upload {WHAT}."))
        return
    taken = uploads.collisions(found.paths, uploads_folder())
    replace = False
    if taken:
        replace = st.checkbox(
            plain(f"Replace what was uploaded before: {', '.join(taken[:SHOWN])}"), key="replace-uploads"
        )
    label = f"Add {counted(len(found.paths), 'file')}"
    if st.button(label, type="primary", disabled=busy or (bool(taken) and not replace), key="add-files"):
        _keep(sent, replace=replace)


def _say_ignored(ignored: Iterable[str]) -> None:
    """Which files are left out: those of no format that is read, and those that an extra would read."""
    known = {name: format_of(name) for name in ignored}
    if others := [name for name, kind in known.items() if kind is None]:
        st.text(f"Left out, because they are not documents: {', '.join(others[:SHOWN])}")
    if readable := [name for name, kind in known.items() if kind is not None]:
        left_out = f"Left out: {', '.join(readable[:SHOWN])}."
        st.warning(plain(f"{left_out} What reads them is not installed here: {INSTALL}"))


def _keep(sent: list[UploadedFile], *, replace: bool) -> None:
    folder = uploads_folder()
    try:
        with changing_files:
            limits = upload_limits(process.athena().settings)
            added = uploads.accept(sent, folder, limits=limits, replace=replace)
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    start_indexing(f"Adding {counted(len(added.paths), 'file')}", [folder])
    kept(UploadRound).number += 1  # an empty uploader next
    st.rerun()
