"""The cross-encoder that is not on disk: a button that fetches it, and how far that is.

Nothing else in the app asks the hub for anything.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.models.base import ModelChoice, Pulling
from pipeline.models.cross_encoder_files import ABOUT_MB, is_fetched
from ui.shared import messages, process
from ui.shared.words import UNBROKEN_SPACE, with_code

if TYPE_CHECKING:
    from athena import Athena

LOOK_EVERY = 0.3  # seconds between two looks at the progress
MB = 1_000_000


class Fetch:
    """One download in a thread that outlives clicks and pages."""

    def __init__(self, athena: Athena) -> None:
        self.pulling = Pulling("Asking huggingface.co", 0, 0)
        self.choice: ModelChoice | None = None  # how it ended
        self._athena = athena
        threading.Thread(target=self._run, name="fetch", daemon=True).start()

    def _run(self) -> None:
        choice = ModelChoice("cross-encoder", "", "none", "The download ended unexpectedly.", "Try again.")
        try:
            _, choice = self._athena.models.fetch_cross_encoder(self._note)
        finally:
            self.choice = choice

    def _note(self, pulling: Pulling) -> None:
        self.pulling = pulling


@st.cache_resource(show_spinner=False)
def _fetches() -> list[Fetch]:
    """The last download of this process, if there was one."""
    return []


def offer() -> None:
    """Draw the button, or how far the download is; nothing where the cross-encoder is there, or unwanted."""
    athena = process.athena()
    name = athena.settings.cross_encoder
    if not is_fetched(name) or athena.models.cross_encoder()[0] is not None:
        return
    fetch = next(iter(_fetches()), None)
    working = fetch is not None and fetch.choice is None
    if not working:
        if fetch and fetch.choice:
            st.warning(with_code(f"{fetch.choice.detail} {fetch.choice.fix}"))
        size = f"{ABOUT_MB[name]}{UNBROKEN_SPACE}MB" if name in ABOUT_MB else "its size depends on the model"
        label = f"Fetch the cross-encoder from huggingface.co ({size})"
        st.button(label, icon=":material/download:", key="fetch-cross-encoder", on_click=_start)
        return
    st.fragment(_watch, run_every=LOOK_EVERY)()


@messages.noticed
def _start() -> None:
    _fetches()[:] = [Fetch(process.athena())]


@messages.shown
def _watch() -> None:
    (fetch,) = _fetches()
    if fetch.choice:
        st.rerun()
    at = fetch.pulling
    if at.total:
        st.progress(at.done / at.total, text=f"{at.done / MB:.0f} of {at.total / MB:.0f} MB")
    else:
        st.progress(0.0, text=f"{at.status} …")
