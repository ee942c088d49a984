"""Adding documents: choose files, add them, and see which were left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pipeline.errors import AthenaError
from pipeline.ingesting.uploads import Accepted, UploadedFile
from pipeline.words import counted
from readers.formats import FORMATS, INSTALL, format_of
from ui.documents.indexing import SHOWN, start_indexing
from ui.shared import messages, process
from ui.shared.uploading import TYPES, index_kept, keep_files

TITLES = [known.title for known in FORMATS]
WHAT = f"{', '.join(TITLES[:-1])} or {TITLES[-1]} files, or a zip of them"


def add_files(*, busy: bool, expanded: bool) -> None:
    """Draw the form that adds files."""
    with st.expander("Add files", icon=":material/upload_file:", expanded=expanded):
        with st.form("add", border=False, clear_on_submit=True):
            sent = st.file_uploader(f"Drop files here: {WHAT}", type=[*TYPES, "zip"], key="uploader",
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
    """Return why files were refused, and which were ignored and why."""
    known = {name: format_of(name) for name in kept.ignored}
    others = [name for name, kind in known.items() if kind is None]
    unreadable = [name for name, kind in known.items() if kind is not None]
    notes = [*kept.refused[:SHOWN]]
    if len(kept.refused) > SHOWN:
        notes.append(f"And {counted(len(kept.refused) - SHOWN, 'file')} more.")
    if others:
        notes.append(f"Left out, because they are not documents: {', '.join(others[:SHOWN])}")
    if unreadable:
        notes.append(f"Left out: {', '.join(unreadable[:SHOWN])}. Their reader is not installed: {INSTALL}")
    return notes
