"""The app: its frame, its navigation, and the page that was asked for."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module

import streamlit as st
from streamlit.navigation.page import Page

from pipeline.errors import AthenaError
from ui.pages import PAGES, PageEntry, PageKey
from ui.shared import brand, dialogs, links, messages, process, state
from ui.shared.corpus import is_the_ships

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


def offered_pages() -> dict[PageKey, Page]:
    """The pages in order, the first by default; the mission only where its manuals are what is read."""
    from athena.missions import has_mission

    playable = has_mission(process.settings()) and not _are_others()
    return {
        entry.key: st.Page(
            partial(draw, entry), title=entry.title, icon=entry.icon, url_path=entry.key,
            default=entry is PAGES[0], visibility="visible" if entry.listed else "hidden",
        )
        for entry in PAGES
        if entry.key != "mission" or playable
    }  # fmt: skip


def _are_others() -> bool:
    """Whether documents are indexed, and none of the ship's manuals is among them."""
    try:
        documents = process.athena().store.sections.documents()
    except AthenaError:  # the page says so
        return False
    return bool(documents) and not is_the_ships(documents)


def draw(entry: PageEntry) -> None:
    """Draw a page; an expected error is shown with its advice, without a traceback."""
    state.come_to(entry.key)
    module, _, function = entry.drawn_by.partition(":")
    try:
        getattr(import_module(module, __package__), function)()
        dialogs.show_dialog(messages.shown)
    except AthenaError as error:
        log.warning("the page cannot be shown: %s", error)
        messages.show_error(error.problem, error.fix)
