"""Errors and confirmations, which every page shows in the same way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import streamlit as st

from mission.errors import MissionError
from pipeline.errors import AthenaError
from ui.shared import dialogs
from ui.shared.words import in_labels, with_code

Given = ParamSpec("Given")

log = logging.getLogger(__name__)

ERROR_ICON = ":material/error:"


def show_error(problem: str, fix: str) -> None:
    """Show what went wrong, and below it what to do."""
    st.error(with_code(problem), icon=ERROR_ICON)
    if fix:
        st.markdown(with_code(fix))


def notify(text: str) -> None:
    """Show a toast until the reader closes it, with field labels instead of `ATHENA_…` variables."""
    st.toast(with_code(in_labels(text)), icon=ERROR_ICON, duration="infinite")


def summary(error: AthenaError | MissionError) -> str:
    """Return the first line of an error's problem, then its fix; the other lines are details for the log."""
    return f"{error.problem.splitlines()[0].rstrip(':')} {error.fix}".strip()


def noticed(callback: Callable[Given, object]) -> Callable[Given, None]:
    """Wrap the callback of a widget: an expected error is shown as a toast, not raised."""

    @wraps(callback)
    def guarded(*args: Given.args, **given: Given.kwargs) -> None:
        try:
            callback(*args, **given)
        except (AthenaError, MissionError) as error:
            log.warning("not done: %s", error)
            notify(summary(error))

    return guarded


def shown(part: Callable[Given, object]) -> Callable[Given, None]:
    """Wrap a fragment or dialog: an expected error is shown in its place, not raised."""

    @wraps(part)
    def guarded(*args: Given.args, **given: Given.kwargs) -> None:
        try:
            part(*args, **given)
        except AthenaError as error:
            log.warning("cannot be shown: %s", error)
            show_error(error.problem, error.fix)

    return guarded


def confirmed(*, no: str, yes: str, key: str) -> bool:
    """Draw the two buttons of a dialog and return whether `yes` was clicked; `no` closes the dialog."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(no, key=f"keep-{key}"):
            dialogs.end_dialog()
        return st.button(yes, type="primary", key=f"discard-{key}")
