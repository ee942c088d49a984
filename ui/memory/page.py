"""Memory: what is remembered about this session's user: one list, the graph, and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.forgetting import ask_about, ask_to_forget, user_memory
from ui.conversation.memory_rows import Row, found_rows, rows, said_rows
from ui.conversation.source import FORGOTTEN_SINCE, ask_for_source, open_turn
from ui.memory.graph_page import graph_page
from ui.memory.settings import memory_settings
from ui.shared import components, links, messages, process, state, style
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import sent
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.memories import Memory

LIST, GRAPH, SETTINGS = "List", "Graph", "Settings"
SEARCH, DAYS = "memory-search", "forget-days"
PAGE = 40
"""Memories that are listed at first, and more each time."""
LONGEST = 4000  # characters of an edited memory
EMPTY = "Nothing is remembered about you yet. Say in the chat: “Remember that …”."
OFF = "Nothing is kept now. To have something kept, choose another way to remember under *Settings* above."
NO_FACT = (
    "No fact about you is kept yet; to have one kept, say in the chat: “Remember that …”. "
    "{said} found again when you ask, or search above."
)
NOT_FOUND = "Nothing that is remembered is like that. Try other words."


@dataclass(slots=True)
class ShownMemories:
    """How many pages of the list this session shows."""

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
        listed = [memory for memory in user_memory().list() if memory.tier != "static"]
        view = _view(listed)
        with st.container(key="memory-view"):
            match view:
                case "Graph":
                    graph_page()
                case "Settings":
                    memory_settings()
                case _:
                    _remembered(listed)


def _view(listed: Sequence[Memory]) -> str:
    """Draw the choice of the view; return the chosen one. The graph is offered where there is one."""
    memory = user_memory()
    counts = f"{counted(len(listed), 'fact')} and {counted(len(memory.turns.own()), 'message')}"
    st.caption(f"{counts} of **{plain(whose.user())}** · {plain(memory.preset.says)}")
    views = [LIST, *([GRAPH] if memory.index.entities else []), SETTINGS]
    picked = st.segmented_control(
        "Show", views, default=LIST, required=True, key="memory-shown", label_visibility="collapsed"
    )
    return str(picked or LIST)


def _remembered(listed: Sequence[Memory]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="memory-bar"):
        query = st.text_input("Search", placeholder="Search facts and messages", key=SEARCH,
                              label_visibility="collapsed", icon=":material/search:")  # fmt: skip
        history = st.toggle(
            "Past ones, too", key="memory-history", help="Also facts that are no longer true."
        )
        _forget_many(query, found=bool(listed or user_memory().turns.own()))
    if history:
        listed = [memory for memory in user_memory().list(history=True) if memory.tier != "static"]
    if query.strip():
        _found(query, history=history)
        return
    if not listed:
        _empty()
        return
    pages = state.kept(ShownMemories).pages
    shown = pages * PAGE
    listed_rows(rows(listed[:shown]), key="memories", otherwise="")
    if len(listed) > shown:
        st.button(f"Show more of {counted(len(listed), 'fact')}", key="memory-more",
                  on_click=_show, args=(pages + 1,))  # fmt: skip


def _found(query: str, *, history: bool) -> None:
    """Draw the facts and the messages that a search finds."""
    memory = user_memory()
    facts = found_rows(memory.search(query, history=history, limit=PAGE))
    said = memory.find_said(query, limit=PAGE)
    if not (facts or said):
        st.markdown(NOT_FOUND)
    if facts:
        st.subheader(counted(len(facts), "fact"), anchor=False)
        listed_rows(facts, key="memories", otherwise="")
    if said:
        titles = {info.id: info.title for info in process.athena().conversations.list(user=memory.user)}
        st.subheader(counted(len(said), "message") if len(said) < PAGE else f"{PAGE} messages", anchor=False)
        listed_rows(said_rows(said, titles=titles), key="said", otherwise="")


def _empty() -> None:
    memory = user_memory()
    if not memory.preset.recalls:
        st.markdown(OFF)
        return
    said = len(memory.turns.own())
    verb = "is" if said == 1 else "are"
    st.text(NO_FACT.format(said=f"{counted(said, 'message')} of yours {verb}") if said else EMPTY)
    links.link("chat", "Go to the chat", icon=":material/forum:")


def _show(pages: int) -> None:
    state.kept(ShownMemories).pages = pages


# -- forgetting many ---------------------------------------------------------------------------------------


def _forget_many(query: str, *, found: bool) -> None:
    with st.popover("Forget …", icon=":material/delete_sweep:", disabled=not found):
        if query.strip():
            st.button(
                "What this search finds", key="forget-found", width="stretch", on_click=_ask_about_found
            )
        st.number_input("Older than so many days", min_value=0, value=365, key=DAYS,
                        help="Pinned facts stay.")  # fmt: skip
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


# -- a list with its buttons -------------------------------------------------------------------------------


def listed_rows(listed: Sequence[Row], *, key: str, otherwise: str) -> None:
    """Draw rows of facts or messages; `otherwise` where there are none."""
    if not listed:
        st.markdown(otherwise)
        return
    clicked = components.memories(
        key=key,
        data={"rows": list(listed)},
        on_source_change=lambda: _show_source(key),
        on_edit_change=lambda: _edit(key),
        on_forget_change=lambda: _forget(key),
        on_pin_change=lambda: _pin(key),
        on_open_change=lambda: None,
    )
    if clicked.open:
        open_turn(str(clicked.open["id"]))


def _show_source(key: str) -> None:
    if wanted := sent(key, "source"):
        ask_for_source(str(wanted["id"]))


def _edit(key: str) -> None:
    if wanted := sent(key, "edit"):
        open_dialog("Edit this memory", partial(edit, str(wanted["id"])))


def _forget(key: str) -> None:
    if wanted := sent(key, "forget"):
        ask_to_forget([str(wanted["id"])])


@messages.noticed
def _pin(key: str) -> None:
    if wanted := sent(key, "pin"):
        user_memory().pin(str(wanted["id"]), pinned=bool(wanted["pressed"]))


def edit(memory_id: str) -> None:
    """Draw the dialog that changes a memory's text."""
    memory = user_memory()
    kept = memory.index.memories.get(memory_id)
    if kept is None:
        st.text(FORGOTTEN_SINCE)
        return
    text = st.text_area("Text", value=kept.text, key=f"edit-{memory_id}", max_chars=LONGEST)
    st.caption("Its old words are gone from the memory. What you said in the conversation stays as it is.")
    if messages.confirmed(no="Cancel", yes="Save", key="edit"):
        try:
            memory.edit(memory_id, text)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        end_dialog()
