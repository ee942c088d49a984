"""Memory: what is remembered about this session's user, and everything that can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from ui.conversation import whose
from ui.conversation.forgetting import ask_about, user_memory
from ui.conversation.user_switch import NO_PROTECTION, user_switch
from ui.memory.deciding import disputes, stale, to_decide
from ui.memory.graph_page import graph_page
from ui.memory.listing import listed_rows
from ui.memory.policies import policies
from ui.memory.rows import found_rows, rows
from ui.shared import links, messages, state, style
from ui.shared.words import memories, plain

if TYPE_CHECKING:
    from pipeline.stores.memories import Memory

LIST, DECIDE, GRAPH, POLICIES = "List", "To decide", "Graph", "Settings"
VIEWS = (LIST, DECIDE, GRAPH, POLICIES)
SEARCH, DAYS = "memory-search", "forget-days"
PAGE = 40
"""Memories that are listed at first, and once more each time that more are asked for."""
EMPTY = "Nothing is remembered about you yet. Say in the chat: “Remember that …”."
OFF = "Nothing is kept: the preset in use is `none` or `short_term`. Another one is set with `ATHENA_MEMORY`."
NOT_FOUND = "Nothing is remembered about that. Try other words."


@dataclass(slots=True)
class ShownMemories:
    """How much of the list this session has asked for."""

    pages: int = 1


def page() -> None:
    """Draw the page."""
    style.apply()
    whose.show_in_address()
    with st.sidebar:
        user_switch()
        st.caption(NO_PROTECTION)
    with st.container(key="page"):
        st.header("Memory", anchor=False)
        messages.show_notice()
        unchecked = _look_at_documents()
        listed = [memory for memory in user_memory().list() if memory.tier != "static"]
        if unchecked:  # and the list can be read: else its error, which is mostly the same, is all there is
            st.warning(plain(unchecked), icon=messages.ERROR_ICON)
        view = _view(listed)
        with st.container(key="memory-view"):
            match view:
                case "To decide":
                    to_decide(listed)
                case "Graph":
                    graph_page()
                case "Settings":
                    policies()
                case _:
                    _remembered(listed)


def _look_at_documents() -> str:
    """What documents no longer say is marked before it is shown; what prevented that, "" = nothing."""
    try:
        user_memory().check_documents()
    except AthenaError as error:
        return str(error)
    return ""


def _view(listed: Sequence[Memory]) -> str:
    """Which part is shown, chosen above it, with what this is about."""
    open_ = len(disputes(listed)) + len(stale(listed))
    preset = user_memory().preset
    st.caption(f"{memories(len(listed))} of **{plain(whose.user())}** · {plain(preset.says)}")
    picked = st.segmented_control(
        "Show", VIEWS, default=LIST, required=True, key="memory-shown", label_visibility="collapsed",
        format_func=lambda name: f"{name} ({open_})" if name == DECIDE and open_ else name,
    )  # fmt: skip
    return str(picked or LIST)


def _remembered(listed: Sequence[Memory]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="memory-bar"):
        query = st.text_input("Search", placeholder="Search what is remembered", key=SEARCH,
                              label_visibility="collapsed", icon=":material/search:")  # fmt: skip
        history = st.toggle("Past ones, too", key="memory-history", help="Also what is no longer true.")
        _forget_many(query, found=bool(listed))
    if query.strip():
        found = user_memory().search(query, history=history, limit=PAGE)
        st.caption(f"{memories(len(found))} found" if found else "")
        listed_rows(found_rows(found), key="memories", otherwise=NOT_FOUND)
        return
    if history:
        listed = [memory for memory in user_memory().list(history=True) if memory.tier != "static"]
    if not listed:
        _empty()
        return
    shown = kept_pages() * PAGE
    listed_rows(rows(listed[:shown]), key="memories", otherwise="")
    if len(listed) > shown:
        st.button(f"Show more of {memories(len(listed))}", key="memory-more", on_click=_show_more)


def _empty() -> None:
    if not user_memory().preset.commands:
        st.markdown(OFF)
        return
    st.text(EMPTY)
    links.link("chat", "Go to the chat", icon=":material/forum:")


def kept_pages() -> int:
    """How many pages of the list are shown."""
    return state.kept(ShownMemories).pages


def _show_more() -> None:
    state.kept(ShownMemories).pages += 1


def _forget_many(query: str, *, found: bool) -> None:
    with st.popover("Forget …", icon=":material/delete_sweep:", disabled=not found):
        if query.strip():
            st.button(
                "What this search finds", key="forget-found", width="stretch", on_click=_ask_about_found
            )
        st.number_input("Older than so many days", min_value=0, value=365, key=DAYS,
                        help="Pinned memories stay.")  # fmt: skip
        st.button("Forget the older ones …", key="forget-older", width="stretch", on_click=_ask_about_older)
        st.button("Forget everything …", key="forget-all", width="stretch", on_click=_ask_about_everything)


def _ask_about_found() -> None:
    query = state.entered(SEARCH)
    ask_about(lambda memory: memory.forgetting(search=query))


def _ask_about_older() -> None:
    days = float(state.entered(DAYS) or 0)
    ask_about(lambda memory: memory.forgetting(older_than=days))


def _ask_about_everything() -> None:
    ask_about(lambda memory: memory.forgetting(everything=True), everything=True)
