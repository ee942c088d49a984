"""The app: its frame, its navigation, the conversations beside it, and the page that was asked for."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import Page

from athena.missions import has_mission
from pipeline.errors import AthenaError
from ui.conversation.sidebar import sidebar
from ui.pages import PAGES, PageEntry
from ui.shared import brand, components, dialogs, links, messages, process, state
from ui.shared.brand import is_the_ships

log = logging.getLogger(__name__)


def show() -> None:
    """Show the page that was asked for."""
    called = brand.name()
    # A ":material/…:" page icon would be fetched from another host; a file of our own is not.
    st.set_page_config(page_title=called, page_icon=str(brand.ICON), layout="wide")
    st.logo(brand.logo(called), icon_image=str(brand.ICON), size="large")
    pages = offered_pages()
    links.offer(pages)
    st.navigation(list(pages.values())).run()


def offered_pages() -> dict[str, Page]:
    """Return the pages in order; the mission only where its manuals are what is read."""
    return {
        entry.key: st.Page(
            partial(draw, entry), title=entry.title, icon=entry.icon, url_path=entry.key,
            default=entry is PAGES[0], visibility="visible" if entry.listed else "hidden",
        )
        for entry in PAGES
        if entry.key != "mission" or _is_playable()
    }  # fmt: skip


def _is_playable() -> bool:
    """Return whether the mission can be played: not where documents are indexed, and none is the ship's."""
    if not has_mission(process.settings()):
        return False
    try:
        documents = process.athena().store.sections.documents()
    except AthenaError:  # the page says so
        return True
    return not documents or is_the_ships(documents)


def draw(entry: PageEntry) -> None:
    """Draw a page; an expected error is shown with its advice, without a traceback."""
    state.come_to(entry.key)
    components.whole_page()
    try:
        sidebar(entry.key)
        import_module(f"ui.{entry.key}.page").page()
        dialogs.show_dialog(messages.shown)
    except AthenaError as error:
        log.warning("the page cannot be shown: %s", error)
        messages.show_error(error.problem, error.fix)
