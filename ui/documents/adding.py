"""Adding documents: choose files, see what is left out, confirm, index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from athena.reading import upload_limits
from pipeline.errors import AthenaError
from pipeline.ingesting import uploads
from pipeline.ingesting.uploads import UploadedFile
from pipeline.words import counted
from readers.formats import FORMATS, INSTALL, format_of
from ui.documents.indexing import SHOWN, start_indexing
from ui.shared import messages, process
from ui.shared.state import kept
from ui.shared.uploading import index_kept, keep_files, uploads_folder
from ui.shared.words import plain

TYPES = [suffix.removeprefix(".") for known in FORMATS for suffix in known.suffixes]
TITLES = [known.title for known in FORMATS]
WHAT = f"{', '.join(TITLES[:-1])} or {TITLES[-1]} files, or a zip of them"


@dataclass(slots=True)
class UploadRound:
    """How often files were added in this session: each time the uploader is a new, empty one."""

    number: int = 0


def add_files(*, busy: bool, expanded: bool) -> None:
    """Draw the field for files, and what adding them would do."""
    with st.expander("Add files", icon=":material/upload_file:", expanded=expanded):
        sent = st.file_uploader(
            f"Drop files here: {WHAT}", type=[*TYPES, "zip"], accept_multiple_files=True,
            key=f"uploader-{kept(UploadRound).number}", disabled=busy,
        )  # fmt: skip
        if sent:
            _confirm([UploadedFile(file.name, file.getvalue()) for file in sent], busy=busy)


def _confirm(sent: list[UploadedFile], *, busy: bool) -> None:
    try:
        found = uploads.inspect(sent, limits=upload_limits(process.athena().settings))
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    _say_left_out(found.ignored)
    for refused in found.refused[:SHOWN]:
        st.error(plain(refused))
    if len(found.refused) > SHOWN:
        st.error(f"And {counted(len(found.refused) - SHOWN, 'file')} more.")
    if not found.paths:
        if not found.refused:
            st.error(plain(f"The upload has no file that can be read. Upload {WHAT}."))
        return
    taken = uploads.collisions(found.paths, uploads_folder(process.athena()))
    if taken:
        st.warning(plain(f"You replace what was uploaded before: {', '.join(taken[:SHOWN])}"))
    label = f"Add {counted(len(found.paths), 'file')}"
    if st.button(label, type="primary", disabled=busy, key="add-files"):
        _add(sent, label)


def _say_left_out(ignored: Iterable[str]) -> None:
    """Say which files are left out: those of no format that is read, and those that an extra would read."""
    known = {name: format_of(name) for name in ignored}
    if others := [name for name, kind in known.items() if kind is None]:
        st.text(f"Left out, because they are not documents: {', '.join(others[:SHOWN])}")
    if readable := [name for name, kind in known.items() if kind is not None]:
        st.warning(
            plain(f"Left out: {', '.join(readable[:SHOWN])}. Their reader is not installed: {INSTALL}")
        )


def _add(sent: list[UploadedFile], title: str) -> None:
    try:
        paths = keep_files(process.athena(), sent)
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    start_indexing(title, partial(index_kept, process.athena(), paths))
    kept(UploadRound).number += 1  # an empty uploader next
    st.rerun()
