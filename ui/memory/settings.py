"""The memory page's settings: what is remembered, and how much of it was recalled lately."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from athena.loading import can_be_written, read_choices
from memory.options import PRESETS
from pipeline.steps.records import last_step
from pipeline.words import counted
from ui.conversation import whose
from ui.shared import fields, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import plain

FOR_EVERYBODY = "For everybody who uses this program, from the next message on."
LATEST = 20  # conversations that the figures are of
SAVED = "Saved. It holds from the next message on."
LESS = "What is kept stays, and is there again with another choice."


def memory_settings() -> None:
    """Draw the presets and the figures."""
    _presets()
    _figures()


def _figures() -> None:
    """Draw in how many of the latest answers something was recalled, and how relevant it was."""
    recalls = recalled_lately()
    st.subheader("Recalled", anchor=False)
    if not recalls:
        st.caption("No answer has looked anything up yet.")
        return
    recalled = sum(map(bool, recalls))
    share = f"{recalled / len(recalls):.0%}"
    st.text(f"A fact was recalled in {recalled} of the last {counted(len(recalls), 'answer')} ({share}).")
    if relevance := [value for found in recalls for value in found]:
        counts = [sum(int(10 * value) == tenth for value in relevance) for tenth in range(10)]
        st.bar_chart({"facts": counts}, height=160, x_label="relevance in tenths", y_label="facts")


def recalled_lately() -> list[list[float]]:
    """Return the relevance of the recalled facts, by answer of this user's latest conversations."""
    conversations = process.athena().conversations
    latest = conversations.list(user=whose.user(), limit=LATEST)
    turns = [turn for info in latest for turn in conversations.get(info.id).turns]
    steps = (last_step(turn.answer.steps, "recall") for turn in turns)
    return [[item["relevance"] for item in step.data.get("recalled", ())] for step in steps if step]


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
