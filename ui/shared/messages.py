"""What every page says in the same way: errors, notices of callbacks, the buttons before a deletion."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pipeline.errors import ManifestMismatch
from pipeline.stores.manifest import check_manifest
from ui.shared import dialogs, process
from ui.shared.state import kept
from ui.shared.words import with_code

ERROR_ICON = ":material/error:"


@dataclass(slots=True)
class Notice:
    """What a callback found wrong, until the page is drawn."""

    text: str = ""


def show_error(problem: str, fix: str) -> None:
    """Show what went wrong, and what to do under it."""
    st.error(with_code(problem), icon=ERROR_ICON)
    if fix:
        st.markdown(with_code(fix))


def warn_of_outdated_index() -> None:
    """Say that the index cannot be searched as it is, and what mends it; nothing where it can."""
    athena = process.athena()
    try:
        check_manifest(athena.store.sections.manifest(), athena.manifest)
    except ManifestMismatch as error:
        st.warning(with_code(str(error)), icon=":material/sync_problem:")


def notify(text: str) -> None:
    """Keep a notice for the next drawing of the page; "" takes it back."""
    kept(Notice).text = text


def show_notice() -> None:
    """Show the kept notice, once."""
    text = kept(Notice).text
    notify("")
    if text:
        st.warning(with_code(text), icon=ERROR_ICON)


def confirmed(*, no: str, yes: str, key: str) -> bool:
    """Draw a dialog's two buttons: whether `yes` was clicked; `no` closes the dialog."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(no, key=f"keep-{key}"):
            dialogs.end_dialog()
        return st.button(yes, type="primary", key=f"discard-{key}")
