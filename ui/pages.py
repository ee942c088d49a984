"""The pages by name, address and picture; each imports its file only when it is shown."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

ICON = Path(__file__).with_name("icon.svg")
LOGO = Path(__file__).with_name("logo.svg")


def _chat() -> None:
    from ui import chat

    chat.page()


def _inspector() -> None:
    from ui import inspector

    inspector.page()


def _documents() -> None:
    from ui import documents

    documents.page()


def chat() -> Page:
    """Questions and answers."""
    return st.Page(_chat, title="Chat", icon=":material/forum:", url_path="chat", default=True)


def inspector() -> Page:
    """How an answer was found."""
    return st.Page(_inspector, title="Inspector", icon=":material/account_tree:", url_path="inspector")


def documents() -> Page:
    """What is indexed."""
    return st.Page(_documents, title="Documents", icon=":material/library_books:", url_path="documents")
