"""What a session remembers, as typed records: no page touches `st.session_state` itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

import streamlit as st

Record = TypeVar("Record")

ANSWER = "answer"
"""In the address: which answer of the conversation is looked at, counting from 1."""


def kept(record: type[Record]) -> Record:
    """The session's one record of a class, made with its defaults at first use."""
    return cast("Record", st.session_state.setdefault(record.__name__, record()))


@dataclass(slots=True)
class Taken:
    """When the last click of each trigger was made that was acted on, as the browser told it."""

    at: dict[tuple[str, str], object] = field(default_factory=dict)


def sent(key: str, trigger: str) -> dict[str, Any]:
    """What a component sent with a trigger; empty where it sent nothing, or that click was taken already."""
    value = (st.session_state.get(key) or {}).get(trigger)
    taken = kept(Taken).at
    if not value or ("at" in value and taken.get((key, trigger)) == value["at"]):
        return {}
    taken[key, trigger] = value.get("at")
    return dict(value)


def entered(key: str) -> str:
    """The text of a field, for the callback that its widget runs."""
    return str(st.session_state.get(key) or "").strip()


def component_state(key: str) -> dict[str, Any]:
    """Return the state of a component, for its callback."""
    return dict(st.session_state.get(key) or {})


def submitted(key: str) -> tuple[str, Sequence[Any]]:
    """Return the text and the files of a chat's field, for its callback."""
    value = st.session_state.get(key)
    if isinstance(value, str) or value is None:
        return (value or "").strip(), ()
    return value.text.strip(), value.files


def begin_with(key: str, value: str) -> None:
    """A widget's first value, where it has none yet: before the widget is drawn."""
    st.session_state.setdefault(key, value)


def choose(key: str, value: str) -> None:
    """Set a widget's value: from a callback, before the widget is drawn."""
    st.session_state[key] = value


@dataclass(slots=True)
class Visit:
    """Which page is looked at, with a token for each time that it is come to."""

    page: str = ""
    token: object = field(default_factory=object)


def come_to(page: str) -> None:
    """Note which page is drawn; a reload is another session, and so another visit."""
    last = kept(Visit)
    if last.page != page:
        last.page, last.token = page, object()


def visit() -> object:
    """What stands for this visit of the page, and no other."""
    return kept(Visit).token


@dataclass(frozen=True, slots=True)
class OpenEvidence:
    """What the evidence pane shows: which citation of which turn, and how much of its file."""

    turn_id: str
    kind: Literal["citation", "nearest"]
    marker: int
    whole: bool = False


@dataclass(slots=True)
class SharedState:
    """What several pages look at."""

    conversation: str = ""  # "" = a new one
    evidence: OpenEvidence | None = None  # None = the pane is closed
    inspected: str = ""  # the turn that the inspector opens with


def shared() -> SharedState:
    """What several pages look at in this session."""
    return kept(SharedState)


def conversation_id() -> str:
    """The conversation to draw: the address wins, so that a reload finds it again."""
    from_address = st.query_params.get("c", "")
    if from_address:
        shared().conversation = from_address
    return shared().conversation


def drawn_conversation_id() -> str:
    """The conversation that callbacks are about: for a moment, a browser sends the address that it had."""
    return shared().conversation


def open_conversation(conversation: str, *, in_address: bool = True) -> None:
    """Make a conversation the current one ("" = a new one); the pane closes.

    A private one is not `in_address`: nothing but this session can open it.
    """
    shared().conversation = conversation
    shared().evidence = None
    st.query_params.pop(ANSWER, None)
    if conversation and in_address:
        st.query_params["c"] = conversation
    else:
        st.query_params.pop("c", None)
