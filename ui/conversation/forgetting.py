"""The dialog that forgets memories and messages: it shows what would go, and asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from memory.ids import ANSWER
from pipeline.errors import AthenaError
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.turns import said_when
from ui.shared import messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.forgetting import Forgetting
    from memory.turn_index import Turn
    from memory.user_memory import UserMemory

IN_FILES = "No memory's file has the text afterwards; copies and backups that you made do."
IN_MONGODB = (
    "No record of MongoDB has the text afterwards; its journal, oplog and free space keep it until they are "
    "written over, and backups keep it."
)

NOTHING = "Nothing would be forgotten: no fact and no message is like that."
SHOWN = 8
"""Facts and messages that a preview lists of each kind."""

Preview = Callable[["UserMemory"], "Forgetting"]


def user_memory() -> UserMemory:
    """Return the memory of this session's user."""
    return process.athena().memory_of(whose.user())


def ask_to_forget(memory_ids: Sequence[str]) -> None:
    """Open the dialog that forgets memories and turns by their ids."""
    ask_about(lambda memory: memory.forgetting(memory_ids))


def ask_about(preview: Preview, *, everything: bool = False) -> None:
    """Open the dialog that forgets what a preview finds, or `everything`."""
    open_dialog("Forget this?", partial(confirm_forgetting, preview, everything=everything))


def confirm_forgetting(preview: Preview, *, everything: bool = False) -> None:
    """Show what would be forgotten, and forget it once that is confirmed."""
    memory = user_memory()
    try:
        found = preview(memory)
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    if not (found or (everything and memory.index.entities)):
        st.text(NOTHING)
        return
    _what_goes(found, everything=everything)
    st.caption(IN_MONGODB if process.settings().store == "server" else IN_FILES)
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        try:
            memory.forget(found)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        end_dialog()


def _what_goes(found: Forgetting, *, everything: bool) -> None:
    """List the memories and messages that would be gone."""
    facts, said = found.memories, _said(found)
    counts = [counted(len(facts), "fact")] if facts else []
    counts += [counted(len(said), "message")] if said else []
    if counts:
        st.text(f"{' and '.join(counts)} will be gone for good.")
    _listed([memory.text for memory in facts])
    if found.said_in:
        st.text("The messages in which they were said are deleted, too. Others that say it stay.")
    if said:
        st.text("Messages are deleted with their answers:")
        _listed([f"{said_when(turn)}: {turn.text}" for turn in said])
    if everything:
        st.text("Everything and everybody that you spoke of goes from the graph.")


def _said(found: Forgetting) -> Sequence[Turn]:
    """Return the messages that go, the latest first; the answer where only that was found."""
    by_turn = {turn.id.removesuffix(ANSWER): turn for turn in reversed(found.turns)}
    return sorted(by_turn.values(), key=lambda turn: -(turn.at or 0.0))


def _listed(found: Sequence[str]) -> None:
    with st.container(gap="xsmall"):
        for item in found[:SHOWN]:
            st.text(f"· {shortened(one_line(item), 200)}")
        if len(found) > SHOWN:
            st.caption(f"and {len(found) - SHOWN:,} more")
