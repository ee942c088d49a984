"""The memories about a user: a switch, a list to search and change, and a graph of names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from athena.loading import changeable
from memory.options import PRESETS
from memory.turn_index import ANSWER
from pipeline.words import counted
from ui.conversation.whose import open_turn, user_memory
from ui.memory.graph import graph_of
from ui.shared import components, links, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import entered, kept
from ui.shared.words import local_time, one_line, plain, shortened

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

SWITCH: Mapping[str, str] = {"Off": "none", "What I ask for": "inject", "What I say": "agent"}
"""The choices and their presets; the server can be started with other presets."""
PAGE = 100  # most memories listed
SEARCH = "memory-search"
LONGEST = 4000  # most characters of an edited memory
SHOWN = 600  # most characters shown of a memory
EMPTY = "Nothing is remembered about you yet. Say in the chat: “Remember that …”."
NOT_FOUND = "Nothing like that is remembered. Try other words."
OPEN, EDIT, PIN, UNPIN, FORGET = "Open the conversation", "Edit …", "Pin", "Unpin", "Forget …"
RESTORE = "Restore what it replaced"

IN_FILES = "You cannot undo this. Your backups still contain it."
IN_MONGODB = "You cannot undo this. MongoDB's journal and backups keep it until they are overwritten."
PREVIEWED = 12  # most facts and messages that a preview lists

Preview = Callable[["UserMemory"], "Forgetting"]


@dataclass(slots=True)
class LastEdit:
    """The memory that this session edited last, kept for Undo."""

    edited: tuple[str, str] | None = None  # its id now, and its text before


def page() -> None:
    """Draw the page."""
    with st.container(key="page"):
        st.header("Memory", anchor=False)
        _switch()
        memory = user_memory()
        listed = memory.list()
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
    """Draw the choice of the memory preset, which applies to every user of this server."""
    settings = process.settings()
    now = next((name for name, preset in SWITCH.items() if preset == settings.memory), settings.memory)
    names = list(dict.fromkeys([*SWITCH, now]))
    fixed = "memory" not in changeable(settings)
    st.segmented_control("What is remembered", names, default=now, required=True, disabled=fixed,
                         key=f"memory-{now}", on_change=_choose, args=(f"memory-{now}",))  # fmt: skip
    st.caption(plain(PRESETS[settings.memory].says))
    if fixed:
        st.caption("`ATHENA_MEMORY` was set when the server was started: change it there.")


@messages.noticed
def _choose(key: str) -> None:
    chosen = SWITCH.get(entered(key))
    if chosen:
        process.change_settings({"memory": chosen})
        st.toast("Saved. It applies from your next message on.", icon=":material/check_circle:")


# -- the list ----------------------------------------------------------------------------------------------


def _listed(listed: Sequence[Memory]) -> None:
    if not listed:
        st.text(EMPTY)
        links.link("chat", "Go to the chat", icon=":material/forum:")
        return
    for memory in listed[:PAGE]:
        _fact(memory)
    if len(listed) > PAGE:
        st.caption(f"These are the latest of {counted(len(listed), 'fact')}. Search for others.")


def _found(query: str) -> None:
    """Draw the facts that match; messages are found by the sidebar's search of conversations."""
    facts = user_memory().search(query, limit=PAGE)
    if not facts:
        st.text(NOT_FOUND)
    for found in facts:
        _fact(found.memory)


def _fact(memory: Memory) -> None:
    about = [local_time(memory.created_at), memory.why]
    about += [source.source for source in memory.sources if source.source]
    former = user_memory().replaced_by(memory.id)
    about += [f"instead of “{shortened(one.text, 80)}”" for one in former]
    turn = next((source.turn_id for source in memory.sources if source.turn_id), "")
    if memory.pinned:
        about.insert(0, ":material/push_pin: pinned")
    if not memory.trusted:
        about.insert(0, ":material/gpp_maybe: reads like an instruction: not followed")
    restore = [RESTORE] if former else []
    acts = [*([OPEN] if turn else []), *restore, EDIT, UNPIN if memory.pinned else PIN, FORGET]
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"memory-row-{memory.id}", wrap=False
    ):
        with st.container(gap=None):
            st.text(shortened(one_line(memory.text), SHOWN))
            st.caption(" · ".join(one if one.startswith(":material") else plain(one) for one in about if one))
        st.menu_button("Manage", acts, key=f"menu-{memory.id}", icon=":material/more_horiz:", type="tertiary",
                       on_click=_manage, args=(memory, turn))  # fmt: skip


@messages.noticed
def _manage(memory: Memory, turn: str) -> None:
    """Handle a choice in a fact's menu; `turn` is the id of the turn where it was said."""
    match entered(f"menu-{memory.id}"):
        case "Open the conversation":
            open_dialog(OPEN, partial(open_turn, turn))
        case "Edit …":
            open_dialog("Edit this memory", partial(edit, memory.id, memory.text))
        case "Forget …":
            ask_about(lambda known: known.forgetting([memory.id]))
        case "Restore what it replaced":
            user_memory().undo(memory.id)
        case "Pin" | "Unpin" as act:
            user_memory().pin(memory.id, pinned=act == PIN)


def edit(memory_id: str, text: str) -> None:
    """Draw the dialog that changes a memory's text."""
    with st.form(f"edit-{memory_id}", border=False):
        changed = st.text_area("Text", value=text, key=f"text-{memory_id}", max_chars=LONGEST)
        st.caption("Your message in the conversation stays as it is.")
        if st.form_submit_button("Save", type="primary") and changed.strip():
            edited = user_memory().edit(memory_id, changed)
            kept(LastEdit).edited = (edited.id, text)
            end_dialog()
    components.focus_first_field()


def _undo_edit() -> None:
    """Draw the button that undoes the last edit."""
    edited = kept(LastEdit).edited
    if edited:
        with st.container(horizontal=True, vertical_alignment="center", key="undo-edit"):
            st.caption(plain(f"Changed: {shortened(edited[1], 60)}"), width="content")
            st.button("Undo", icon=":material/undo:", type="tertiary", key="undo", on_click=_undo,
                      args=edited)  # fmt: skip


@messages.noticed
def _undo(memory_id: str, text: str) -> None:
    user_memory().edit(memory_id, text)
    kept(LastEdit).edited = None


# -- forgetting --------------------------------------------------------------------------------------------


def ask_about(preview: Preview) -> None:
    """Open the dialog that shows a preview, and forgets its memories and messages after a yes."""
    open_dialog("Forget this?", partial(confirm_forgetting, preview))


def confirm_forgetting(preview: Preview) -> None:
    """Show what would be forgotten, and forget it after a confirmation."""
    memory = user_memory()
    found = preview(memory)
    if not found:
        st.text("There is nothing to forget.")
        return
    _what_goes(found)
    st.caption(IN_MONGODB if process.settings().store == "server" else IN_FILES)
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        memory.forget(found)
        end_dialog()


def _what_goes(found: Forgetting) -> None:
    """List the memories and messages to be deleted."""
    by_turn = {turn.id.removesuffix(ANSWER): turn for turn in reversed(found.turns)}
    facts = [memory.text for memory in found.memories]
    said = [turn.text for turn in sorted(by_turn.values(), key=lambda turn: -(turn.at or 0.0))]
    counts = [counted(len(one), word) for one, word in ((facts, "fact"), (said, "message")) if one]
    answers = " Messages are deleted with their answers." if said else ""
    st.text(f"This deletes {' and '.join(counts)} for good.{answers}")
    with st.container(gap="xsmall"):
        for item in [*facts, *said][:PREVIEWED]:
            st.text(f"· {shortened(one_line(item), 200)}")
        if (more := len(facts) + len(said) - PREVIEWED) > 0:
            st.caption(f"and {more:,} more")
    if set(found.said_in) - set(found.turn_ids):
        st.text("The messages that they came from are deleted, too.")
