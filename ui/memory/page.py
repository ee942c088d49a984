"""Memory: what is remembered about this session's user, and everything that can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from memory.presets import PRESETS
from pipeline.errors import AthenaError
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.forgetting import ask_about, user_memory
from ui.memory.deciding import disputes, stale, to_decide
from ui.memory.graph_page import graph_page
from ui.memory.listing import listed_rows
from ui.memory.rows import found_rows, rows
from ui.shared import links, messages, process, state, style
from ui.shared.state import kept
from ui.shared.words import one_line, plain, shortened

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
        whose.user_switch()
        st.caption(whose.NO_PROTECTION)
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
    st.caption(f"{counted(len(listed), 'memory')} of **{plain(whose.user())}** · {plain(preset.says)}")
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
        st.caption(f"{counted(len(found), 'memory')} found" if found else "")
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
        st.button(f"Show more of {counted(len(listed), 'memory')}", key="memory-more", on_click=_show_more)


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


IMMUTABLE = "It reads this first, before every answer. Nothing said in a conversation changes it."
NO_STATIC = (
    "This persona has no static memory. `identity`, `goals`, `rules` and `environment` in its TOML file "
    "(`ATHENA_PERSONA`) are shown here."
)


def policies() -> None:
    """Draw the persona, the presets, and the ways in and out."""
    st.subheader("What is kept and recalled", anchor=False)
    st.caption("A setting of the program: to change it, start it with `ATHENA_MEMORY` set to another name.")
    current = user_memory().preset.name
    with st.container(key="presets"):
        for preset in PRESETS.values():
            used = " · **in use**" if preset.name == current else ""
            with st.container(key=f"preset-{'current-' if used else ''}{preset.name}", gap=None):
                st.markdown(f"`{preset.name}`{used}  \n{plain(preset.says)}")
    st.subheader(plain(f"Who answers: {process.persona().name}"), anchor=False)
    st.caption(IMMUTABLE)
    memory = user_memory()
    fixed = frozenset(item.id for item in memory.static)
    static = [item for item in memory.list() if item.tier == "static"]
    listed_rows(rows(static, fixed=fixed), key="static", otherwise=NO_STATIC)
    st.subheader("Take it along", anchor=False)
    taking_along()


SHOWN = 5
NOT_TEXT = "This is not an export of memories: it is not UTF-8."
WHAT = "Choose a file that was exported here, or one with `documents`, `metadatas` and `ids`."


@dataclass(slots=True)
class ImportRound:
    """How often something was imported in this session: each time the uploader is a new, empty one."""

    number: int = 0


def taking_along() -> None:
    """Draw the buttons to export, and the field for a file to import."""
    memory = user_memory()
    with st.container(horizontal=True):
        st.download_button("Export as JSON", data=lambda: memory.export(), file_name="memories.json",
                           mime="application/json", icon=":material/download:", on_click="ignore",
                           key="export-json")  # fmt: skip
        st.download_button("Export as Markdown", data=lambda: memory.export(form="markdown"),
                           file_name="memories.md", mime="text/markdown", icon=":material/download:",
                           on_click="ignore", key="export-markdown")  # fmt: skip
    sent = st.file_uploader("Import a JSON file", type=["json"], key=f"import-{kept(ImportRound).number}")
    if sent is None:
        return
    try:
        data = sent.getvalue().decode("utf-8")
    except UnicodeDecodeError:
        messages.show_error(NOT_TEXT, WHAT)
        return
    _confirm(data)


def _confirm(data: str) -> None:
    try:
        found = user_memory().would_import(data)
    except AthenaError as error:
        messages.show_error(error.problem, WHAT)
        return
    if not found:
        st.text("Everything in this file is remembered already.")
        return
    st.text(f"This would add {counted(len(found), 'memory')}:")
    for memory in found[:SHOWN]:
        st.text(f"· {shortened(one_line(memory.text), 160)}")
    if len(found) > SHOWN:
        st.caption(f"and {len(found) - SHOWN:,} more")
    label = plain(f"Import {counted(len(found), 'memory')}")
    st.button(label, type="primary", key="import", on_click=_import, args=(data,))


@messages.noticed
def _import(data: str) -> None:
    user_memory().import_(data)
    kept(ImportRound).number += 1  # an empty uploader next
