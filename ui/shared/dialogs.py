"""The dialog that is open: kept until it is closed, and drawn by every run of the page that it belongs to.

What a widget sends is known to one run of the page, which the next may cut short, and a run closes every
dialog that it does not draw: what only a click drew would be lost with its run, and closed by the end of an
answer or of an ingest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

import streamlit as st

from ui.shared.state import kept, visit

Draw = Callable[[], None]
Width = Literal["small", "medium", "large"]


@dataclass(slots=True)
class OpenDialog:
    """What this session has open, and in which visit of which page; `draw` is None where nothing is."""

    title: str = ""
    draw: Callable[[], None] | None = None
    width: Width = "small"
    visit: object = None


def open_dialog(title: str, draw: Callable[[], None], *, width: Width = "small") -> None:
    """Open a dialog, in place of any other: for the callback of a widget, before the page is drawn."""
    dialog = kept(OpenDialog)
    dialog.title, dialog.draw, dialog.width, dialog.visit = title, draw, width, visit()


def close_dialog() -> None:
    """Let the next run of the page draw no dialog."""
    kept(OpenDialog).draw = None


def end_dialog() -> NoReturn:
    """Close the dialog that calls this, and run the page."""
    close_dialog()
    st.rerun()


def show_dialog(guarded: Callable[[Draw], Draw]) -> None:
    """Draw what is open on this page; what was opened before another one was gone to is not.

    `guarded` catches the expected errors of what is drawn: a dialog also runs alone, without its page.
    """
    dialog = kept(OpenDialog)
    if dialog.draw is not None and dialog.visit is visit():
        st.dialog(dialog.title, width=dialog.width, on_dismiss=close_dialog)(guarded(dialog.draw))()
