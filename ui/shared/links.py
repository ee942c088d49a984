"""Links from page to page, by the keys of `ui/pages.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st
from streamlit.navigation.page import Page

from ui.shared.state import kept


@dataclass(slots=True)
class OfferedPages:
    """The pages that this session can go to."""

    pages: Mapping[str, Page] = field(default_factory=dict)


def offer(pages: Mapping[str, Page]) -> None:
    """Set the pages that this session can link to, by key."""
    kept(OfferedPages).pages = pages


def link(key: str, label: str, *, icon: str) -> None:
    """Draw a link to a page."""
    st.page_link(kept(OfferedPages).pages[key], label=label, icon=icon)


def go(key: str, **query: str) -> None:
    """Switch to a page; `query` becomes the query parameters of its address."""
    st.switch_page(kept(OfferedPages).pages[key], query_params=query)
