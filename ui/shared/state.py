"""What the pages keep: one Athena and one runner a process, and a few values a session."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import streamlit as st

from athena.settings import Settings
from pipeline.answering.persona import Persona, load_persona
from ui.conversation.runner import Runner
from ui.documents.jobs import Jobs

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import ModelChoice

CONVERSATION = "conversation_id"
EVIDENCE = "evidence"
INSPECTED = "inspected_turn"
MODEL = "language_model"
ATHENA = "athena"
MODELS_KEPT = 60  # seconds

_served_with: list[Settings] = []  # at most one: what `athena serve` was started with


@dataclass(frozen=True, slots=True)
class OpenEvidence:
    """Which citation the pane shows: of which turn, which one, and how much of its file."""

    turn_id: str
    kind: Literal["citation", "nearest"]
    marker: int
    whole: bool = False


def use_settings(settings: Settings) -> None:
    """Serve with these settings instead of those of the environment."""
    _served_with[:] = [settings]


def athena() -> Athena:
    """The one Athena of this process; a session may be given another (the tests do)."""
    given = st.session_state.get(ATHENA)
    return cast("Athena", given) if given is not None else _open()


def settings() -> Settings:
    """The settings of this process, without opening anything."""
    given = st.session_state.get(ATHENA)
    if given is not None:
        return cast("Athena", given).settings
    from athena import load_settings

    return _served_with[0] if _served_with else load_settings()


@st.cache_resource(show_spinner=False)
def _persona(path: Path | None) -> Persona:
    return load_persona(path)


def persona() -> Persona:
    """Who answers in the chat; raises `ConfigurationError`."""
    return _persona(settings().persona)


@st.cache_resource(show_spinner="Opening the manuals …")
def _open() -> Athena:
    from athena import load_settings, open_athena

    opened = open_athena(_served_with[0] if _served_with else load_settings())
    opened.warm_up(serving=True)
    # A reranker that is not on disk is fetched meanwhile; answers go on without it until it is there.
    fetch = {"fetch": True}
    threading.Thread(target=opened.cross_encoder, kwargs=fetch, name="reranker", daemon=True).start()
    return opened


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """Answers being written, of all sessions: a reloaded page finds its own again."""
    return Runner()


@st.cache_resource(show_spinner=False)
def jobs() -> Jobs:
    """The indexing job of this process."""
    return Jobs()


@st.cache_data(ttl=MODELS_KEPT, show_spinner=False)
def _models(_athena: Athena, key: int) -> tuple[ModelChoice, list[str]]:  # noqa: ARG001
    return _athena.language_model()[1], _athena.language_models()


def models() -> tuple[ModelChoice, list[str]]:
    """The language model that is found, and those to pick from; asked for again once a minute at most."""
    current = athena()
    return _models(current, id(current))


def look_for_models() -> None:
    """Look again at once: one was started, or went away."""
    _models.clear()


def conversation_id() -> str:
    """The conversation of this session: the address wins, so that a reload finds it again."""
    from_address = st.query_params.get("c", "")
    if from_address:
        st.session_state[CONVERSATION] = from_address
    return str(st.session_state.get(CONVERSATION, ""))


def open_conversation(conversation: str) -> None:
    """Make a conversation the current one ("" = a new one); the pane closes."""
    st.session_state[CONVERSATION] = conversation
    st.session_state[EVIDENCE] = None
    if conversation:
        st.query_params["c"] = conversation
    else:
        st.query_params.clear()


def evidence() -> OpenEvidence | None:
    """What the pane shows; None while it is closed."""
    return cast("OpenEvidence | None", st.session_state.get(EVIDENCE))


def show_evidence(value: OpenEvidence | None) -> None:
    """Open the pane on a citation, or close it."""
    st.session_state[EVIDENCE] = value
