"""Settings: what can be changed while Athena runs, where each value comes from, and what it would change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from athena.loading import can_be_written, read_choices
from athena.settings_changes import drafted, try_connection
from pipeline.errors import AthenaError
from ui.conversation.model_picker import NO_MODEL, look_for_models, models
from ui.settings.usage import usage
from ui.shared import fields, messages, process, style
from ui.shared.state import kept
from ui.shared.words import plain, with_code

FOR_EVERYBODY = (
    "For everybody who uses this server, from the next question on. Flags, the environment and `.env` win "
    "over what is chosen here; every command reads it, too."
)
READ_ONLY = "The data folder '{}' can only be read: nothing can be changed here."
SAVED = "Saved. It holds from the next question on."
NO_MODEL_YET = "But no language model answers with it:"
OF_THE_MODEL = {fields.MODEL.name, *(item.name for item in fields.SERVERS)}


@dataclass(slots=True)
class Outcome:
    """What the last click came to, until the page is drawn: said once."""

    saved: bool = False
    warning: str = ""


def page() -> None:
    """Draw the page."""
    style.apply()
    with st.container(key="page"), st.container(key="settings"):
        st.header("Settings", anchor=False)
        with st.container(key="said"):  # always there: what stands below it stays as it is
            messages.show_notice()
        changes = _for_everybody()
        _saving(changes)
        usage()


def _said() -> None:
    """Say that it was saved, beside the button, and whether what was saved works."""
    outcome = kept(Outcome)
    if outcome.saved:
        st.success(SAVED, icon=":material/check_circle:")
    if outcome.warning:
        st.warning(with_code(f"{NO_MODEL_YET} {outcome.warning}"), icon=":material/cloud_off:")
    outcome.saved, outcome.warning = False, ""


def _for_everybody() -> dict[str, Any]:
    """Draw the settings of the server; what was changed of them."""
    settings = process.settings()
    can_write = can_be_written(settings.data_dir)
    shown = fields.Shown(settings, read_choices(settings.data_dir), can_write, models()[1], _reset)
    st.subheader("This server", anchor=False)
    st.markdown(with_code(FOR_EVERYBODY))
    if not can_write:
        st.warning(plain(READ_ONLY.format(settings.data_dir)), icon=":material/lock:")
    changes = fields.field(fields.MODEL, shown)
    chosen = any(item.name in shown.chosen for item in fields.SERVERS)
    with st.expander("Servers and key", icon=":material/dns:", expanded=chosen):
        for item in fields.SERVERS:
            changes |= fields.field(item, shown)
    _connection(changes)
    (hyde,) = fields.SEARCH
    _cross_encoder()
    for item in (hyde, *fields.ANSWERS):
        changes |= fields.field(item, shown)
    return changes


def _connection(changes: Mapping[str, Any]) -> None:
    """Draw the button that asks the language model for a word, with what is not kept yet."""
    if not st.button("Test connection", key="test-connection", icon=":material/network_check:"):
        return
    try:
        with st.spinner("Asking the model for a word …"):
            found = try_connection(drafted(process.settings(), changes))
    except AthenaError as error:
        _show_error(error)
    else:
        st.success(plain(found), icon=":material/check_circle:")


def _cross_encoder() -> None:
    """Name the cross-encoder in use, or say why there is none."""
    found, choice = process.athena().models.cross_encoder()
    with st.container(key="cross-encoder", gap="xsmall"):
        text = f"In use: `{choice.name}`." if found is not None else f"{choice.detail} {choice.fix}"
        st.caption(with_code(text))


def _saving(changes: Mapping[str, Any]) -> None:
    wrong = fields.problem_with(changes)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="saving"):
        unable = not changes or bool(wrong)
        if st.button("Save", type="primary", key="save", disabled=unable, icon=":material/save:"):
            _save(changes)
        if changes:
            state = "Cannot be saved" if wrong else "Not saved yet"
            st.caption(f"{state}: {fields.in_words(dict(changes), process.settings())}")
    with st.container(key="outcome"):  # always there, too
        _said()


def _show_error(error: AthenaError) -> None:
    """Show what went wrong with what stands in the fields, by their names."""
    messages.show_error(fields.in_labels(error.problem), fields.in_labels(error.fix))


def _save(changes: Mapping[str, Any]) -> None:
    try:
        _change(changes)
    except AthenaError as error:
        _show_error(error)
        return
    kept(Outcome).saved = True
    st.rerun()


def _reset(name: str) -> None:
    try:
        _change({name: None})
    except AthenaError as error:
        messages.notify(fields.in_labels(str(error)))
    else:
        st.toast(SAVED, icon=":material/check_circle:")  # the button may be far from the one that saves


def _change(changes: Mapping[str, Any]) -> None:
    process.change_settings(changes)
    kept(fields.Edited).times += 1
    look_for_models()
    choice = models()[0] if OF_THE_MODEL & changes.keys() else None
    if choice and not choice.name and process.settings().llm != NO_MODEL:
        kept(Outcome).warning = fields.in_labels(f"{choice.detail} {choice.fix}")
