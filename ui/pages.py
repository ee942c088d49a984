"""The pages by name, address and picture; each imports its file only when it is shown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from pipeline.errors import AthenaError
from ui.words import plain

log = logging.getLogger(__name__)

ICON = Path(__file__).with_name("icon.svg")
LOGO = Path(__file__).with_name("logo.svg")


def _chat() -> None:
    from ui import chat

    _shown(chat.page)


def _inspector() -> None:
    from ui import inspector

    _shown(inspector.page)


def _documents() -> None:
    from ui import documents

    _shown(documents.page)


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


def inspector() -> Page:
    """How an answer was found."""
    return st.Page(_inspector, title="Inspector", icon=":material/account_tree:", url_path="inspector")


def documents() -> Page:
    """What is indexed."""
    return st.Page(_documents, title="Documents", icon=":material/library_books:", url_path="documents")
