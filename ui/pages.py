"""The pages by name, address and picture; each imports its file only when it is shown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from html import escape
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from pipeline.answering.persona import Persona
from pipeline.errors import AthenaError
from ui.shared import state
from ui.shared.words import plain

log = logging.getLogger(__name__)

ICON = Path(__file__).parent / "shared" / "icon.svg"
LOGO = Path(__file__).parent / "shared" / "logo.svg"
LOGO_MARK, LOGO_LETTER = 60, 12  # the picture's width, and that of a letter beside it


def _chat() -> None:
    from ui.chat import page

    _shown(page.page)


def _inspector() -> None:
    from ui.inspector import page

    _shown(page.page)


def _documents() -> None:
    from ui.documents import page

    _shown(page.page)


def _mission() -> None:
    from ui.mission import page

    _shown(page.page)


def _shown(page: Callable[[], None]) -> None:
    """Show a page; what went wrong on purpose is said with its advice, without a traceback."""
    try:
        page()
    except AthenaError as error:
        log.warning("the page cannot be shown: %s", error)
        st.error(plain(error.problem), icon=":material/error:")
        if error.fix:
            st.text(error.fix)


def chat() -> Page:
    """Questions and answers."""
    return st.Page(_chat, title="Chat", icon=":material/forum:", url_path="chat", default=True)


def mission() -> Page:
    """The ship with a fault aboard."""
    return st.Page(_mission, title="Mission", icon=":material/rocket_launch:", url_path="mission")


def inspector() -> Page:
    """How an answer was found."""
    return st.Page(_inspector, title="Inspector", icon=":material/account_tree:", url_path="inspector")


def documents() -> Page:
    """What is indexed."""
    return st.Page(_documents, title="Documents", icon=":material/library_books:", url_path="documents")


def all_pages() -> list[Page]:
    """The pages in order; the mission only where the corpus is the ship's manuals."""
    from athena.missions import has_mission

    playable = [mission()] if has_mission(state.settings()) else []
    return [chat(), *playable, inspector(), documents()]


def name() -> str:
    """What the assistant is called; a persona that cannot be read is reported by the page."""
    try:
        return state.persona().name
    except AthenaError as error:
        log.warning("the persona cannot be read: %s", error)
        return Persona().name


def logo(called: str) -> str:
    """The logo with the assistant's name beside the picture."""
    width = LOGO_MARK + LOGO_LETTER * len(called)
    drawn = LOGO.read_text(encoding="utf-8").replace("132", f"{width:.0f}")
    return drawn.replace(">Athena<", f">{escape(called)}<")
