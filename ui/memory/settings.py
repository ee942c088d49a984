"""The memory page's settings: the preset, the persona's static memory, figures, export and import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from athena.chosen import can_be_written, read_chosen
from memory import transfer
from memory.options import PRESETS
from pipeline.errors import AthenaError
from pipeline.steps.records import last_step
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.forgetting import user_memory
from ui.shared import fields, messages, process
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import one_line, plain, shortened

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
    _figures()
    st.subheader(plain(f"Who answers: {process.persona().name}"), anchor=False)
    st.caption(IMMUTABLE)
    memory = user_memory()
    static = [item for item in memory.list() if item.tier == "static"]
    for item in static:
        st.text(f"· {item.text}")
    if not static:
        st.markdown(NO_STATIC)
    st.subheader("Export and import", anchor=False)
    taking_along()


def _presets() -> None:
    """Draw the choice of the preset, which holds for everybody who uses this program."""
    settings = process.settings()
    can_write = can_be_written(settings.data_dir)
    shown = fields.Shown(settings, read_chosen(settings.data_dir), can_write, (), _reset)
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


SHOWN = 5
LATEST = 20  # conversations that the figures are of
NOT_TEXT = "This is not an export of memories: it is not UTF-8."
WHAT = "Choose a file that was exported here, or one with `documents`, `metadatas` and `ids`."


def _figures() -> None:
    """Draw in how many of the latest answers something was recalled, and how relevant it was."""
    recalls = recalled_lately()
    st.subheader("Recalled", anchor=False)
    if not recalls:
        st.caption("No answer has looked anything up yet.")
        return
    recalled = sum(map(bool, recalls))
    share = f"{recalled / len(recalls):.0%}"
    st.text(f"A memory was recalled in {recalled} of the last {counted(len(recalls), 'answer')} ({share}).")
    if relevance := [value for found in recalls for value in found]:
        counts = [sum(int(10 * value) == tenth for value in relevance) for tenth in range(10)]
        st.caption("Relevance of the recalled memories")
        st.bar_chart({"memories": counts}, height=160, x_label="relevance in tenths", y_label="memories")


def recalled_lately() -> list[list[float]]:
    """Return the relevance of the recalled memories, by answer of this user's latest conversations."""
    conversations = process.athena().conversations
    latest = conversations.list(user=whose.user(), limit=LATEST)
    turns = [turn for info in latest for turn in conversations.get(info.id).turns]
    steps = (last_step(turn.answer.steps, "recall") for turn in turns)
    return [[item["relevance"] for item in step.data.get("recalled", ())] for step in steps if step]


@dataclass(slots=True)
class ImportRound:
    """How often something was imported in this session: each time the uploader is a new, empty one."""

    number: int = 0


def taking_along() -> None:
    """Draw the buttons to export, and the field for a file to import."""
    memory = user_memory()
    with st.container(horizontal=True):
        st.download_button("Export as JSON", data=lambda: transfer.export(memory), file_name="memories.json",
                           mime="application/json", icon=":material/download:", on_click="ignore",
                           key="export-json")  # fmt: skip
        st.download_button("Export as Markdown", data=lambda: transfer.export(memory, form="markdown"),
                           file_name="memories.md", mime="text/markdown", icon=":material/download:",
                           on_click="ignore", key="export-markdown")  # fmt: skip
    sent = st.file_uploader("Import a JSON file", type=["json"], key=f"import-{kept(ImportRound).number}")
    if sent is None:
        return
    try:
        data = sent.getvalue().decode("utf-8")
    except UnicodeDecodeError:
        messages.show_error(NOT_TEXT, WHAT)
        return
    _confirm_import(data)


def _confirm_import(data: str) -> None:
    try:
        found = transfer.would_import(user_memory(), data).memories
    except AthenaError as error:
        messages.show_error(error.problem, WHAT)
        return
    if not found:
        st.text("Everything in this file is remembered already.")
        return
    st.text(f"This would add {counted(len(found), 'fact')}:")
    for memory in found[:SHOWN]:
        st.text(f"· {shortened(one_line(memory.text), 160)}")
    if len(found) > SHOWN:
        st.caption(f"and {len(found) - SHOWN:,} more")
    label = plain(f"Import {counted(len(found), 'fact')}")
    st.button(label, type="primary", key="import", on_click=_import, args=(data,))


@messages.noticed
def _import(data: str) -> None:
    transfer.imported(user_memory(), data)
    kept(ImportRound).number += 1  # an empty uploader next
