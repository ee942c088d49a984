"""Forgetting memories from a page: what would go, what goes along, and whether the words go, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError
from pipeline.words import counted
from ui.conversation import whose
from ui.shared import messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

IN_FILES = "No memory's file has the text afterwards; copies and backups that you made do."
IN_MONGODB = (
    "No record of MongoDB has the text afterwards; its journal, oplog and free space keep it until they are "
    "written over, and backups keep it."
)

SHOWN = 8
"""Memories that a preview lists of each kind."""

Preview = Callable[["UserMemory"], "Forgetting"]


def user_memory() -> UserMemory:
    """The memory of this session's user."""
    return process.athena().memory_of(whose.user())


def ask_to_forget(memory_ids: Sequence[str]) -> None:
    """Ask before some memories are forgotten."""
    ask_about(lambda memory: memory.forgetting(memory_ids))


def ask_about(preview: Preview, *, everything: bool = False) -> None:
    """Ask before what a preview finds is forgotten, or `everything`."""
    open_dialog("Forget this?", partial(confirm_forgetting, preview, everything=everything))


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
    st.text(f"{counted(len(found.memories), 'memory')} will be gone for good, with what was made of them.")
    _listed(found.meant)
    if found.derived:
        st.text("What was made of them goes along:")
        _listed(found.derived)
    if everything:
        st.text("So will everything and everybody that you spoke of.")
    words = bool(found.words) and st.checkbox(
        "Overwrite the words in the conversations, too", value=True, key="forget-words",
        help="They are blacked out in your messages and in what was made of them.",
    )  # fmt: skip
    st.caption(_what_stays(found, words=words))
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        try:
            memory.forget(found, words=words, everything=everything)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        end_dialog()


def _what_stays(found: Forgetting, *, words: bool) -> str:
    """Where the text can still be read or found afterwards, plainly."""
    stays = "" if words or not found.words else "The words stay to read in the conversations. "
    return stays + (IN_MONGODB if process.settings().store == "server" else IN_FILES)


def _listed(found: Sequence[Memory]) -> None:
    with st.container(gap="xsmall"):
        for item in found[:SHOWN]:
            st.text(f"· {shortened(one_line(item.text), 200)}")
        if len(found) > SHOWN:
            st.caption(f"and {len(found) - SHOWN:,} more")
