"""Who answers and what is remembered: the persona's static memory, and the presets with what each does."""

from __future__ import annotations

import streamlit as st

from memory.presets import PRESETS
from ui.conversation.forgetting import user_memory
from ui.memory.listing import listed_rows
from ui.memory.rows import rows
from ui.memory.transfer import taking_along
from ui.shared import process
from ui.shared.words import plain

IMMUTABLE = "It reads this first, before every answer. Nothing said in a conversation changes it."
NO_STATIC = (
    "This persona has no static memory. `identity`, `goals`, `rules` and `environment` in its TOML file "
    "(`ATHENA_PERSONA`) are shown here."
)


def policies() -> None:
    """Draw the persona, the presets, and the ways in and out."""
    st.subheader("What is kept and recalled", anchor=False)
    st.caption("A setting of the program: to change it, start it with `ATHENA_MEMORY` set to another name.")
    current = user_memory().preset.name
    with st.container(key="presets"):
        for preset in PRESETS.values():
            used = " · **in use**" if preset.name == current else ""
            with st.container(key=f"preset-{'current-' if used else ''}{preset.name}", gap=None):
                st.markdown(f"`{preset.name}`{used}  \n{plain(preset.says)}")
    st.subheader(plain(f"Who answers: {process.persona().name}"), anchor=False)
    st.caption(IMMUTABLE)
    memory = user_memory()
    fixed = frozenset(item.id for item in memory.static)
    static = [item for item in memory.list() if item.tier == "static"]
    listed_rows(rows(static, fixed=fixed), key="static", otherwise=NO_STATIC)
    st.subheader("Take it along", anchor=False)
    taking_along()
