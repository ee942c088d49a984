"""The memories about a user: a switch, a list to search and change, and a graph of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from athena.loading import can_be_written, changeable
from memory.ids import ANSWER
from memory.options import PRESETS
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.whose import open_turn, user_memory
from ui.memory.forgetting import ask_about, ask_to_forget
from ui.memory.graph import graph_of
from ui.shared import components, links, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import entered, kept
from ui.shared.words import ORIGINS, local_time, one_line, plain, shortened

if TYPE_CHECKING:
    from memory.turn_index import FoundTurn
    from pipeline.stores.memories import Memory

SWITCH: Mapping[str, str] = {"Off": "none", "What I ask for": "inject", "What I say": "agent"}
"""The choices with their presets; other presets can be set where the server is started."""
PAGE = 40  # memories that are listed at first, and more each time
SEARCH = "memory-search"
LONGEST = 4000  # characters of an edited memory
SHOWN = 600  # characters of a message
EMPTY = "Nothing is remembered about you yet. Say in the chat: “Remember that …”."
NOT_FOUND = "Nothing like that is remembered. Try other words."
OPEN, EDIT, PIN, UNPIN, FORGET = "Open the conversation", "Edit …", "Pin", "Unpin", "Forget …"


@dataclass(slots=True)
class Shown:
    """How many pages of the list this session shows, and the last edit, to undo it."""

    pages: int = 1
    edited: tuple[str, str] | None = None  # id and text before


def page() -> None:
    """Draw the page."""
    whose.show_in_address()
    with st.container(key="page"):
        st.header("Memory", anchor=False)
        _switch()
        memory = user_memory()
        listed = [one for one in memory.list() if one.tier != "static"]
        with st.container(horizontal=True, vertical_alignment="center", key="memory-bar"):
            query = st.text_input("Search", placeholder="Search what is remembered", key=SEARCH,
                                  label_visibility="collapsed", icon=":material/search:")  # fmt: skip
            if listed or memory.turns.own():
                st.button("Forget everything …", icon=":material/delete_sweep:", key="forget-all",
                          on_click=ask_about, args=(lambda m: m.forgetting(everything=True),))  # fmt: skip
        _undo_edit()
        if query.strip():
            _found(query)
        else:
            _listed(listed)
        graph_of(memory)


# -- the switch --------------------------------------------------------------------------------------------


def _switch() -> None:
    """Draw the choice of what is remembered, for everybody who uses this server."""
    settings = process.settings()
    now = next((name for name, preset in SWITCH.items() if preset == settings.memory), settings.memory)
    names = list(dict.fromkeys([*SWITCH, now]))
    fixed = "memory" not in changeable(settings) or not can_be_written(settings.data_dir)
    st.segmented_control("What is remembered", names, default=now, required=True, disabled=fixed,
                         key=f"memory-{now}", on_change=_choose, args=(f"memory-{now}",))  # fmt: skip
    st.caption(plain(PRESETS[settings.memory].says))
    if fixed:
        origin = ORIGINS.get(settings.origin("memory"), "a file that cannot be written")
        st.caption(f"This was set by {origin}: change it there.")


@messages.noticed
def _choose(key: str) -> None:
    chosen = SWITCH.get(entered(key))
    if chosen:
        process.change_settings({"memory": chosen})
        st.toast("Saved for the messages from now on.", icon=":material/check_circle:")


# -- the list ----------------------------------------------------------------------------------------------


def _listed(listed: Sequence[Memory]) -> None:
    if not listed:
        st.text(EMPTY)
        links.link("chat", "Go to the chat", icon=":material/forum:")
        return
    pages = kept(Shown).pages
    for memory in listed[: pages * PAGE]:
        _fact(memory)
    if len(listed) > pages * PAGE:
        label = f"Show more of {counted(len(listed), 'fact')}"
        st.button(label, key="more", on_click=_show, args=(pages + 1,))


def _show(pages: int) -> None:
    kept(Shown).pages = pages


def _found(query: str) -> None:
    """Draw the facts and messages that a search finds."""
    memory = user_memory()
    facts = memory.search(query, limit=PAGE)
    said = memory.find_said(query, limit=PAGE)
    if not (facts or said):
        st.text(NOT_FOUND)
    for found in facts:
        _fact(found.memory)
    if said:
        st.subheader("Messages", anchor=False)
    titles = {info.id: info.title for info in process.athena().conversations.list(user=memory.user)}
    for item in said:
        _message(item, title=titles.get(item.turn.session, ""))


def _fact(memory: Memory) -> None:
    about = [local_time(memory.created_at), *memory.tags, memory.why]
    about += [source.source for source in memory.sources if source.source]
    turn = next((source.turn_id for source in memory.sources if source.turn_id), "")
    if memory.pinned:
        about.insert(0, ":material/push_pin: pinned")
    if not memory.trusted:
        about.insert(0, ":material/gpp_maybe: reads like an instruction: not followed")
    acts = [*([OPEN] if turn else []), EDIT, UNPIN if memory.pinned else PIN, FORGET]
    _row(memory.id, memory.text, about, acts, turn=turn)


def _message(found: FoundTurn, *, title: str) -> None:
    turn = found.turn
    who = {"you": "you", "assistant": "the assistant"}.get(turn.who, turn.speaker)
    about = [who, f"in “{title}”" if title else "", local_time(turn.at) if turn.at is not None else ""]
    _row(turn.id, turn.text, about, [OPEN, FORGET], turn=turn.id.removesuffix(ANSWER))


def _row(known: str, text: str, about: Sequence[str | None], acts: Sequence[str], *, turn: str) -> None:
    """Draw a fact or message with its menu; `turn` is the id of the turn that it comes from."""
    with st.container(horizontal=True, vertical_alignment="center", key=f"memory-row-{known}", wrap=False):
        with st.container(gap=None):
            st.text(shortened(one_line(text), SHOWN))
            st.caption(" · ".join(one if one.startswith(":material") else plain(one) for one in about if one))
        st.menu_button("Manage", acts, key=f"menu-{known}", icon=":material/more_horiz:", type="tertiary",
                       on_click=_manage, args=(known, text, turn))  # fmt: skip


@messages.noticed
def _manage(known: str, text: str, turn: str) -> None:
    """Handle a choice in the menu of a fact or message."""
    match entered(f"menu-{known}"):
        case "Open the conversation":
            open_dialog(OPEN, partial(open_turn, turn))
        case "Edit …":
            open_dialog("Edit this memory", partial(edit, known, text))
        case "Forget …":
            ask_to_forget([known])
        case "Pin" | "Unpin" as act:
            user_memory().pin(known, pinned=act == PIN)


def edit(memory_id: str, text: str) -> None:
    """Draw the dialog that changes a memory's text."""
    with st.form(f"edit-{memory_id}", border=False):
        changed = st.text_area("Text", value=text, key=f"text-{memory_id}", max_chars=LONGEST)
        st.caption("Your message in the conversation stays as it is.")
        if st.form_submit_button("Save", type="primary") and changed.strip():
            edited = user_memory().edit(memory_id, changed)
            kept(Shown).edited = (edited.id, text)
            end_dialog()
    components.focus_first_field()


def _undo_edit() -> None:
    """Draw the button that undoes the last edit."""
    edited = kept(Shown).edited
    if edited:
        with st.container(horizontal=True, vertical_alignment="center", key="undo-edit"):
            st.caption(plain(f"Changed: {shortened(edited[1], 60)}"), width="content")
            st.button("Undo", icon=":material/undo:", type="tertiary", key="undo", on_click=_undo,
                      args=edited)  # fmt: skip


@messages.noticed
def _undo(memory_id: str, text: str) -> None:
    kept(Shown).edited = None
    user_memory().edit(memory_id, text)
