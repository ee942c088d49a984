"""The open dialog: kept until it is closed, and drawn by every run of its page.

Streamlit closes each dialog that a run does not draw. One drawn only by the run after a click would be closed
by the end of an answer or of an ingest.
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
    """The page that is drawn, and the dialog that is open on it; `draw` is None without one."""

    page: str = ""
    title: str = ""
    draw: Callable[[], None] | None = None
    width: Width = "small"


def come_to(page: str) -> None:
    """Note which page is drawn; if it is another one than before, close the dialog."""
    dialog = kept(OpenDialog)
    if dialog.page != page:
        dialog.page, dialog.draw = page, None


def open_dialog(title: str, draw: Callable[[], None], *, width: Width = "small") -> None:
    """Open a dialog in place of any other; also from a callback."""
    dialog = kept(OpenDialog)
    dialog.title, dialog.draw, dialog.width = title, draw, width


def close_dialog() -> None:
    """Draw no dialog in the next run of the page."""
    kept(OpenDialog).draw = None


def end_dialog() -> NoReturn:
    """Close the dialog that calls this, and run the page."""
    close_dialog()
    st.rerun()


def show_dialog(guarded: Callable[[Draw], Draw]) -> None:
    """Draw the open dialog; `guarded` shows its expected errors, as a dialog also runs without its page."""
    dialog = kept(OpenDialog)
    if dialog.draw is not None:
        st.dialog(dialog.title, width=dialog.width, on_dismiss=close_dialog)(guarded(dialog.draw))()
