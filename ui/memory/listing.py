"""The list of memories with what can be done to each: see its source, edit, pin, forget."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from memory.deciding import edits
from pipeline.errors import AthenaError
from pipeline.steps.records import ids_of
from ui.conversation.deciding import ask_what_contradicts
from ui.conversation.forgetting import ask_to_forget, user_memory
from ui.conversation.memory_rows import Row
from ui.conversation.source import FORGOTTEN_SINCE, ask_for_source, open_turn
from ui.shared import components, messages
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import sent

IN_DISPUTE = "Kept as a fact. It contradicts another one: that is to be decided."
LONGEST = 4000  # characters of an edited memory


def listed_rows(listed: Sequence[Row], *, key: str, otherwise: str) -> None:
    """Draw facts or what was said, or what to say where there are none."""
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
        on_contradicts_change=lambda: _contradicts(key),
        on_open_change=lambda: None,
        on_keep_change=lambda: _keep(key),
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
        edits.pin(user_memory(), str(wanted["id"]), pinned=bool(wanted["pressed"]))


def _contradicts(key: str) -> None:
    if wanted := sent(key, "contradicts"):
        ask_what_contradicts(str(wanted["id"]))


@messages.noticed
def _keep(key: str) -> None:
    if wanted := sent(key, "keep"):
        step = edits.keep_said(user_memory(), str(wanted["id"]))
        kept = "Kept as a fact." if ids_of(step, "added") else "That is known already."
        st.toast(IN_DISPUTE if ids_of(step, "disputed") else kept, icon=":material/bookmark_added:")


def edit(memory_id: str) -> None:
    """Let a memory say something else."""
    memory = user_memory()
    kept = memory.index.memories.get(memory_id)
    if kept is None:
        st.text(FORGOTTEN_SINCE)
        return
    text = st.text_area("What it says", value=kept.text, key=f"edit-{memory_id}", max_chars=LONGEST)
    st.caption("Its old words are gone from the memory. What you said in the conversation stays as it is.")
    if messages.confirmed(no="Cancel", yes="Save", key="edit"):
        try:
            edits.edit(memory, memory_id, text)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        end_dialog()
