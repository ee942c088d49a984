"""The app: its navigation, the sidebar with the conversations, and the page in the address."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import Page

from athena.missions import has_mission
from pipeline.answering.persona import Persona
from pipeline.errors import AthenaError
from ui.conversation.sidebar import sidebar
from ui.pages import PAGES, PageEntry
from ui.shared import components, dialogs, links, messages, process

log = logging.getLogger(__name__)


def show() -> None:
    """Show the page in the address."""
    called = process.name_of_assistant()
    # A ":material/…:" page icon would be fetched from another host; a file of our own is not.
    st.set_page_config(page_title=called, page_icon=str(process.ICON), layout="wide")
    logo = process.LOGO if called == Persona().name else process.ICON
    st.logo(str(logo), icon_image=str(process.ICON), size="large")
    pages = offered_pages()
    links.offer(pages)
    st.navigation(list(pages.values())).run()


def offered_pages() -> dict[str, Page]:
    """Return the pages by key, in the order of the navigation; the mission only if it can be played."""
    return {
        entry.key: st.Page(
            partial(draw, entry), title=entry.title, icon=entry.icon, url_path=entry.key,
            default=entry is PAGES[0], visibility="visible" if entry.listed else "hidden",
        )
        for entry in PAGES
        if entry.key != "mission" or _is_playable()
    }  # fmt: skip


def _is_playable() -> bool:
    """Return whether the corpus is the mission's manuals, and these are indexed or nothing is indexed yet."""
    if not has_mission(process.settings()):
        return False
    try:
        documents = process.athena().store.documents()
    except AthenaError:  # the page shows this error
        return True
    return not documents or process.is_the_ships(documents)


def draw(entry: PageEntry) -> None:
    """Draw a page; an expected error is shown with its fix."""
    dialogs.come_to(entry.key)
    components.whole_page()
    try:
        sidebar(entry.key)
        import_module(f"ui.{entry.key}.page").page()
        dialogs.show_dialog(messages.shown)
    except AthenaError as error:
        log.warning("the page cannot be shown: %s", error)
        messages.show_error(error.problem, error.fix)
