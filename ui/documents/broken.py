"""Uploaded files that are not indexed: which, why, another try, and their deletion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from athena.reading import changing_files
from pipeline.ingesting import uploads
from pipeline.ingesting.documents import paths_of
from pipeline.words import counted
from ui.documents.indexing import SHOWN, is_upload, start_indexing, uploads_folder
from ui.shared import messages
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.jobs import jobs
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

UNKNOWN = "It was not indexed. Try again to see why."


def broken_uploads(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    """Draw the uploaded files that are kept and not indexed; nothing while they are being indexed."""
    indexed = {path for info in documents if is_upload(info) for path in paths_of(info)}
    broken = [path for path in uploads.uploaded(uploads_folder()) if path not in indexed]
    if busy or not broken:
        return
    with st.container(border=True, key="broken"):
        st.markdown(f"**{counted(len(broken), 'uploaded file')} could not be indexed**")
        for path in broken[:SHOWN]:
            _row(path)
        if len(broken) > SHOWN:
            st.caption(f"And {counted(len(broken) - SHOWN, 'file')} more.")
        st.button("Try again", icon=":material/sync:", key="retry", on_click=start_indexing,
                  args=("Trying again", [uploads_folder()]))  # fmt: skip


def _row(path: str) -> None:
    problem = jobs().problem_of(path)
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        with st.container(gap="xsmall"):
            st.text(path)
            st.caption(plain(f"{problem.reason}. {problem.fix}" if problem else UNKNOWN))
        st.button("", icon=":material/delete:", key=f"delete-{path}", type="tertiary",
                  help=plain(f"Delete {path}"), on_click=open_dialog,
                  args=("Delete this file?", partial(_confirm_deletion, path)))  # fmt: skip


def _confirm_deletion(path: str) -> None:
    """Ask before an uploaded file is deleted."""
    st.text(f"{path} will be deleted from the uploads. It was never indexed.")
    if messages.confirmed(no="Keep it", yes="Delete", key="upload"):
        with changing_files:
            uploads.remove(path, uploads_folder())
        end_dialog()
