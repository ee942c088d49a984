"""The dialog that forgets memories and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from memory.ids import ANSWER
from pipeline.words import counted
from ui.conversation.whose import user_memory
from ui.shared import messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory

IN_FILES = "You cannot undo this. Backups that you made keep it."
IN_MONGODB = "You cannot undo this. MongoDB's journal and backups keep it until they are overwritten."
NOTHING = "There is nothing to forget."
SHOWN = 8  # facts and messages that a preview lists of each kind

Preview = Callable[["UserMemory"], "Forgetting"]


def ask_to_forget(memory_ids: Sequence[str]) -> None:
    """Open the dialog that forgets memories and messages by their ids."""
    ask_about(lambda memory: memory.forgetting(memory_ids))


def ask_about(preview: Preview) -> None:
    """Open the dialog that forgets the memories and messages of a preview."""
    open_dialog("Forget this?", partial(confirm_forgetting, preview))


def confirm_forgetting(preview: Preview) -> None:
    """Show what would be forgotten, and forget it after a confirmation."""
    memory = user_memory()
    found = preview(memory)
    if not found:
        st.text(NOTHING)
        return
    _what_goes(found)
    st.caption(IN_MONGODB if process.settings().store == "server" else IN_FILES)
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        memory.forget(found)
        end_dialog()


def _what_goes(found: Forgetting) -> None:
    """List the memories and messages to be deleted."""
    by_turn = {turn.id.removesuffix(ANSWER): turn for turn in reversed(found.turns)}
    said = sorted(by_turn.values(), key=lambda turn: -(turn.at or 0.0))
    facts = [memory.text for memory in found.memories]
    counts = [counted(len(one), word) for one, word in ((facts, "fact"), (said, "message")) if one]
    st.text(f"You delete {' and '.join(counts)} for good.")
    _listed(facts)
    if found.said_in:
        st.text("The messages in which you said so are deleted, too.")
    if said:
        st.text("Messages are deleted with their answers:")
        _listed([turn.text for turn in said])


def _listed(found: Sequence[str]) -> None:
    with st.container(gap="xsmall"):
        for item in found[:SHOWN]:
            st.text(f"· {shortened(one_line(item), 200)}")
        if len(found) > SHOWN:
            st.caption(f"and {len(found) - SHOWN:,} more")
