"""The state of a session as typed records: no page reads or writes `st.session_state` itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

import streamlit as st

Record = TypeVar("Record")

ANSWER = "answer"
"""The query parameter for the number of the answer to show in its conversation, from 1."""


def kept(record: type[Record]) -> Record:
    """Return this session's only instance of a record class, made with its defaults at first use."""
    return cast("Record", st.session_state.setdefault(record.__name__, record()))


@dataclass(slots=True)
class Taken:
    """The browser's time of the last handled click, by component and trigger."""

    at: dict[tuple[str, str], object] = field(default_factory=dict)


def sent(key: str, trigger: str) -> dict[str, Any]:
    """Return the value that a component sent with a trigger; {} if there is none or it was handled before."""
    value = (st.session_state.get(key) or {}).get(trigger)
    taken = kept(Taken).at
    if not value or ("at" in value and taken.get((key, trigger)) == value["at"]):
        return {}
    taken[key, trigger] = value.get("at")
    return dict(value)


def entered(key: str) -> str:
    """Return the value of a widget as stripped text, for its callback; "" if it has none."""
    return str(st.session_state.get(key) or "").strip()


def submitted(key: str) -> tuple[str, Sequence[Any]]:
    """Return the text and the files of a chat field, for its callback."""
    value = st.session_state.get(key) or ""
    return getattr(value, "text", value).strip(), getattr(value, "files", ())


def begin_with(key: str, value: str) -> None:
    """Set the value of a widget that has none yet; call this before the widget is drawn."""
    st.session_state.setdefault(key, value)


def choose(key: str, value: str) -> None:
    """Set the value of a widget; call this before the widget is drawn."""
    st.session_state[key] = value


@dataclass(frozen=True, slots=True)
class OpenEvidence:
    """The citation that the evidence pane shows."""

    turn_id: str
    kind: Literal["citation", "nearest"]
    marker: int  # for "nearest": the index of the section, from 0
    whole: bool = False  # whether the pane shows the whole file


@dataclass(slots=True)
class SharedState:
    """State that several pages read."""

    conversation: str = ""  # its id; "" = a new one
    evidence: OpenEvidence | None = None  # None = the pane is closed
    agent: bool = False  # whether the agent is asked
    working: str = ""  # id of the conversation that was being answered or titled when the sidebar was drawn


def shared() -> SharedState:
    """Return the state that several pages read."""
    return kept(SharedState)


def conversation_id() -> str:
    """Return the id of the conversation to draw: from the address, else the last one; "" = a new one."""
    from_address = st.query_params.get("c", "")
    if from_address:
        shared().conversation = from_address
    return shared().conversation


def drawn_conversation_id() -> str:
    """Return the id of the conversation drawn last: in callbacks, the address may still be an old one."""
    return shared().conversation


def open_conversation(conversation: str, *, in_address: bool = True) -> None:
    """Make a conversation the current one ("" = a new one), and close the evidence pane.

    Private conversations are not put `in_address`, since only this session can open them.
    """
    shared().conversation = conversation
    shared().evidence = None
    st.query_params.pop(ANSWER, None)
    if conversation and in_address:
        st.query_params["c"] = conversation
    else:
        st.query_params.pop("c", None)
