"""The memory page's settings: the preset, the persona's static memory, figures, export and import."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from athena.loading import can_be_written, read_choices
from memory.options import PRESETS
from ui.shared import fields, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import plain

FOR_EVERYBODY = "For everybody who uses this program, from the next message on."
SAVED = "Saved. It holds from the next message on."
LESS = "What is kept stays, and is there again with another choice."
IMMUTABLE = "It reads this first, before every answer. Nothing said in a conversation changes it."
NO_STATIC = (
    "This persona has no static memory. `identity`, `goals`, `rules` and `environment` in its TOML file "
    "(`ATHENA_PERSONA`) are shown here."
)


def memory_settings() -> None:
    """Draw the presets, the persona's static memory, the figures, and export and import."""
    _presets()


def _presets() -> None:
    """Draw the choice of the preset, which holds for everybody who uses this program."""
    settings = process.settings()
    can_write = can_be_written(settings.data_dir)
    shown = fields.Shown(settings, read_choices(settings.data_dir), can_write, (), _reset)
    st.subheader("What is remembered", anchor=False)
    st.markdown(FOR_EVERYBODY)
    with st.container(key="presets"):
        changes = {name: value for item in fields.MEMORY for name, value in fields.field(item, shown).items()}
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="saving"):
        st.button("Save", type="primary", key="save-memory", disabled=not changes, icon=":material/save:",
                  on_click=_save, args=(changes,))  # fmt: skip
        if changes:
            st.caption(f"Not saved yet: {fields.in_words(changes, settings)}")


@messages.noticed
def _save(changes: dict[str, Any]) -> None:
    """Keep another choice; what remembers less is asked about first."""
    preset = PRESETS.get(changes.get("memory", ""))
    if preset is not None and not preset.recalls:
        open_dialog("Remember nothing more?", partial(_confirm_less, changes))
    else:
        _change(changes)


def _confirm_less(changes: dict[str, Any]) -> None:
    st.markdown(plain(PRESETS[changes["memory"]].says))
    st.text(LESS)
    if messages.confirmed(no="Cancel", yes="Save", key="less"):
        _change(changes)
        end_dialog()


@messages.noticed
def _reset(name: str) -> None:
    _change({name: None})


def _change(changes: Mapping[str, Any]) -> None:
    process.change_settings(changes)
    kept(fields.Edited).times += 1
    st.toast(SAVED, icon=":material/check_circle:")
