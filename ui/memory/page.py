"""Memory: what is remembered about this session's user, and everything that can be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING

import streamlit as st

from memory.options import FOUND
from memory.recalling.user_turns import Which
from pipeline.errors import AthenaError
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.deciding import disputes, stale, to_decide
from ui.conversation.forgetting import ask_about, user_memory
from ui.conversation.memory_rows import found_rows, rows, said_rows
from ui.memory.graph_page import graph_page
from ui.memory.listing import listed_rows
from ui.memory.policies import policies
from ui.shared import links, messages, process, state, style
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.memories import Memory

LIST, DECIDE, GRAPH, POLICIES = "List", "To decide", "Graph", "Settings"
VIEWS = (LIST, DECIDE, GRAPH, POLICIES)
SEARCH, DAYS = "memory-search", "forget-days"
PAGE = 40
"""Memories that are listed at first, and once more each time that more are asked for."""
EMPTY = "Nothing is remembered about you yet. Say in the chat: “Remember that …”."
OFF = "Nothing is kept now. To have something kept, choose another way to remember under *Settings* above."
NO_FACT = (
    "No fact about you is kept yet; to have one kept, say in the chat: “Remember that …”. "
    "{said} found again when you ask: search above, or filter by day."
)
ONLY_FACTS = "Of what was said only what was kept as a fact is recalled."
NOT_FOUND = "Nothing that is remembered is like that. Try other words, or a longer time."


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
    memory = user_memory()
    says = memory.preset.says if memory.recalls_turns else memory.preset.says.replace(FOUND, ONLY_FACTS)
    counts = f"{counted(len(listed), 'fact')} and {counted(len(memory.turns.own()), 'message')}"
    st.caption(f"{counts} of **{plain(whose.user())}** · {plain(says)}")
    picked = st.segmented_control(
        "Show", VIEWS, default=LIST, required=True, key="memory-shown", label_visibility="collapsed",
        format_func=lambda name: f"{name} ({open_})" if name == DECIDE and open_ else name,
    )  # fmt: skip
    return str(picked or LIST)


def _remembered(listed: Sequence[Memory]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="memory-bar"):
        query = st.text_input("Search", placeholder="Search facts and messages", key=SEARCH,
                              label_visibility="collapsed", icon=":material/search:")  # fmt: skip
        which = _filters()
        history = st.toggle(
            "Past ones, too", key="memory-history", help="Also facts that are no longer true."
        )
        _forget_many("" if which else query, found=bool(listed or user_memory().turns.own()))
    if history:
        listed = [memory for memory in user_memory().list(history=True) if memory.tier != "static"]
    if query.strip() or which:
        _found(query, which, listed, history=history)
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


def _filters() -> Which:
    """Which of it is looked for: by the day it was said, and who said it."""
    turns = user_memory().turns
    with st.popover("Filter", icon=":material/filter_list:"):
        begun = st.date_input("From", value=None, key="said-from")
        ended = st.date_input("To", value=None, key="said-to")
        speaker = st.selectbox("Said by", turns.speakers(), index=None, key="said-by",
                               placeholder="Anybody", format_func=_speaker)  # fmt: skip
    return Which(
        since=_at(begun, time.min) if begun else None,
        until=_at(ended, time.max) if ended else None,
        speaker=speaker or "",
    )


def _at(day: date, moment: time) -> float:
    return datetime.combine(day, moment).timestamp()


def _speaker(name: str) -> str:
    return {"you": "You", "assistant": "The assistant"}.get(name, name)


def _found(query: str, which: Which, listed: Sequence[Memory], *, history: bool) -> None:
    """Draw the facts and the messages that a search or a filter finds."""
    memory = user_memory()
    if query.strip():
        searched = memory.search(query, history=history, limit=PAGE)
        facts = found_rows([item for item in searched if which.has_fact(item.memory)])
    else:
        facts = rows([item for item in listed if which.has_fact(item)][:PAGE])
    said = memory.find_said(query, which=which, limit=PAGE)
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
    if not user_memory().preset.recalls:
        st.markdown(OFF)
        return
    said = len(user_memory().turns.own()) if user_memory().recalls_turns else 0
    verb = "is" if said == 1 else "are"
    st.text(NO_FACT.format(said=f"{counted(said, 'message')} of yours {verb}") if said else EMPTY)
    links.link("chat", "Go to the chat", icon=":material/forum:")


def _show(pages: int) -> None:
    state.kept(ShownMemories).pages = pages


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
