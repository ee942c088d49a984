"""Forgetting memories from a page: what would go, what goes along, and whether the words go, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from ui.conversation import whose
from ui.shared import messages, process
from ui.shared.state import kept
from ui.shared.words import memories, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

SHOWN = 8
"""Memories that a preview lists of each kind."""

Preview = Callable[["UserMemory"], "Forgetting"]


@dataclass(slots=True)
class AskedToForget:
    """The memory that a turn's reader wants forgotten, until the page asks whether they are sure."""

    memory_id: str = ""


def user_memory() -> UserMemory:
    """The memory of this session's user."""
    return process.athena().memory_of(whose.user())


def ask_to_forget(memory_id: str) -> None:
    """Let the page ask at its next run."""
    kept(AskedToForget).memory_id = memory_id


def confirm_what_was_asked() -> None:
    """Ask about the memory that a turn's reader wants forgotten; nothing where there is none."""
    memory_id = kept(AskedToForget).memory_id
    ask_to_forget("")
    if memory_id:
        confirm_forgetting(lambda memory: memory.forgetting([memory_id]))


@st.dialog("Forget this?")
def confirm_forgetting(preview: Preview, *, everything: bool = False) -> None:
    """Show what would be forgotten, and forget it once that is confirmed."""
    memory = user_memory()
    try:
        found = preview(memory)
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    if not (found.memories or everything):
        st.text("Nothing would be forgotten: no memory is like that.")
        return
    st.text(f"{memories(len(found.memories))} will be gone for good, from every file.")
    _listed(found.meant)
    if found.derived:
        st.text("What was made of them goes along:")
        _listed(found.derived)
    if everything:
        st.text("So will everything and everybody that you spoke of.")
    words = bool(found.words) and st.checkbox(
        "Overwrite the words in the conversations, too", value=True, key="forget-words",
        help="They are blacked out in your messages and in what was made of them. "
        "Otherwise they stay there to read.",
    )  # fmt: skip
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        try:
            memory.forget(found, words=words, everything=everything)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        st.rerun()


def _listed(found: Sequence[Memory]) -> None:
    with st.container(gap="xsmall"):
        for item in found[:SHOWN]:
            st.text(f"· {shortened(one_line(item.text), 200)}")
        if len(found) > SHOWN:
            st.caption(f"and {len(found) - SHOWN:,} more")
