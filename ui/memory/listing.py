"""The list of memories with what can be done to each: see its source, edit, pin, forget."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pipeline.errors import AthenaError
from ui.conversation.forgetting import confirm_forgetting, user_memory
from ui.memory.rows import Row
from ui.memory.source import show_source
from ui.shared import components, messages
from ui.shared.state import sent

LONGEST = 4000  # characters of an edited memory


def listed_rows(listed: Sequence[Row], *, key: str, otherwise: str) -> None:
    """Draw memories, or what to say where there are none."""
    if not listed:
        st.markdown(otherwise)
        return
    clicked = components.memories(
        key=key,
        data={"rows": list(listed)},
        on_source_change=lambda: None,
        on_edit_change=lambda: None,
        on_forget_change=lambda: None,
        on_pin_change=lambda: _pin(key),
    )
    if clicked.source:
        show_source(str(clicked.source["id"]))
    elif clicked.edit:
        edit(str(clicked.edit["id"]))
    elif clicked.forget:
        wanted = str(clicked.forget["id"])
        confirm_forgetting(lambda memory: memory.forgetting([wanted]))


def _pin(key: str) -> None:
    if wanted := sent(key, "pin"):
        try:
            user_memory().pin(str(wanted["id"]), pinned=bool(wanted["pinned"]))
        except AthenaError as error:
            messages.notify(str(error))


@st.dialog("Edit this memory")
def edit(memory_id: str) -> None:
    """Let a memory say something else."""
    memory = user_memory()
    try:
        kept = memory.get(memory_id)
    except AthenaError as error:
        messages.show_error(error.problem, error.fix)
        return
    text = st.text_area("What it says", value=kept.text, key=f"edit-{memory_id}", max_chars=LONGEST)
    st.caption("Its old words are gone from the memory. What you said in the conversation stays as it is.")
    if messages.confirmed(no="Cancel", yes="Save", key="edit"):
        try:
            memory.edit(memory_id, text)
        except AthenaError as error:
            messages.show_error(error.problem, error.fix)
            return
        st.rerun()
