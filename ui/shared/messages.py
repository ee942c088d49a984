"""What every page says in the same way: errors, notices of callbacks, the buttons before a deletion."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec

import streamlit as st

from pipeline.errors import AthenaError, ManifestMismatch
from pipeline.stores.base import check_manifest
from ui.shared import dialogs, process
from ui.shared.state import kept
from ui.shared.words import with_code

Given = ParamSpec("Given")

log = logging.getLogger(__name__)

ERROR_ICON = ":material/error:"


@dataclass(slots=True)
class Notice:
    """What a callback found wrong, until the page is drawn."""

    text: str = ""
    standing: str = ""  # shown already, and once more when the page is at rest


def show_error(problem: str, fix: str) -> None:
    """Show what went wrong, and what to do under it."""
    st.error(with_code(problem), icon=ERROR_ICON)
    if fix:
        st.markdown(with_code(fix))


def warn_of_outdated_index() -> None:
    """Say that the index cannot be searched as it is, and what mends it; nothing where it can."""
    athena = process.athena()
    try:
        check_manifest(athena.store.sections.statistics().manifest, athena.manifest)
    except ManifestMismatch as error:
        st.warning(with_code(str(error)), icon=":material/sync_problem:")


def notify(text: str) -> None:
    """Keep a notice for the next drawing of the page; "" takes it back."""
    notice = kept(Notice)
    notice.text, notice.standing = text, ""


def show_notice(*, drawn_again: bool = False) -> None:
    """Show the kept notice, once; also next time where the page is `drawn_again` before it can be read."""
    notice = kept(Notice)
    text = notice.text or notice.standing
    notice.text, notice.standing = "", text if drawn_again else ""
    if text:
        st.warning(with_code(text), icon=ERROR_ICON)


def pending() -> bool:
    """Whether a notice is kept that was not shown yet: a fragment runs the whole page for it."""
    return bool(kept(Notice).text)


def noticed(callback: Callable[Given, object]) -> Callable[Given, None]:
    """The callback of a widget; an expected error of it becomes a notice, with what to do."""

    @wraps(callback)
    def guarded(*args: Given.args, **given: Given.kwargs) -> None:
        try:
            callback(*args, **given)
        except AthenaError as error:
            log.warning("not done: %s", error)
            notify(str(error))

    return guarded


def shown(part: Callable[Given, object]) -> Callable[Given, None]:
    """A part of a page that runs alone, as a fragment or dialog; an expected error is shown in its place."""

    @wraps(part)
    def guarded(*args: Given.args, **given: Given.kwargs) -> None:
        try:
            part(*args, **given)
        except AthenaError as error:
            log.warning("cannot be shown: %s", error)
            show_error(error.problem, error.fix)

    return guarded


def confirmed(*, no: str, yes: str, key: str, ready: bool = True) -> bool:
    """Draw a dialog's two buttons: whether `yes` was clicked, which it can be once all is `ready`.

    `no` closes the dialog.
    """
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(no, key=f"keep-{key}"):
            dialogs.end_dialog()
        return st.button(yes, type="primary", key=f"discard-{key}", disabled=not ready)
