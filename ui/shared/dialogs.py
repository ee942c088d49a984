"""The open dialog: kept until it is closed, and drawn by every run of its page.

Streamlit closes each dialog that a run of the page does not draw. If only the run after the click drew it,
the dialog would close when an answer or an ingest ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

import streamlit as st

from ui.shared.state import kept

Draw = Callable[[], None]
Width = Literal["small", "medium", "large"]


@dataclass(slots=True)
class OpenDialog:
    """The page that is drawn, and the dialog that is open on it; `draw` is None if none is open."""

    page: str = ""
    title: str = ""
    draw: Callable[[], None] | None = None
    width: Width = "small"


def come_to(page: str) -> None:
    """Record which page is drawn; if it is not the page drawn before, close the dialog."""
    dialog = kept(OpenDialog)
    if dialog.page != page:
        dialog.page, dialog.draw = page, None


def open_dialog(title: str, draw: Callable[[], None], *, width: Width = "small") -> None:
    """Open a dialog in place of any other; `draw` draws its content. Callbacks may call this, too."""
    dialog = kept(OpenDialog)
    dialog.title, dialog.draw, dialog.width = title, draw, width


def close_dialog() -> None:
    """Close the dialog: the next run of the page does not draw it."""
    kept(OpenDialog).draw = None


def end_dialog() -> NoReturn:
    """Close the dialog that calls this, and run the page again; never returns."""
    close_dialog()
    st.rerun()


def show_dialog(guarded: Callable[[Draw], Draw]) -> None:
    """Draw the open dialog, if any; `guarded` shows its errors, as a dialog can run without its page."""
    dialog = kept(OpenDialog)
    if dialog.draw is not None:
        st.dialog(dialog.title, width=dialog.width, on_dismiss=close_dialog)(guarded(dialog.draw))()
