"""The process's settings, its Athena, and the names of assistant and language model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.settings import Settings
from pipeline.answering.persona import Persona, load_persona
from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import ModelChoice
    from pipeline.stores.base import DocumentInfo

log = logging.getLogger(__name__)

ICON = Path(__file__).with_name("icon.svg")
LOGO = Path(__file__).with_name("logo.svg")
MANUAL = "systems/atmosphere-supply.md"  # one of the manuals that come with Athena
PROXY_USER = "athena_user"
"""The key in `st.user` of the name that a proxy's header gives."""

MODEL_KEPT_S = 60
"""Seconds after which the language model is looked up again."""

_served_with: list[Settings] = []  # at most one: what `athena serve` was started with


def use_settings(settings: Settings) -> None:
    """Serve with these settings instead of those of the environment."""
    _served_with[:] = [settings]


def change_settings(changes: Mapping[str, Any]) -> None:
    """Store changed settings and use them in every session, from the next question on.

    Raises `ConfigurationError`.
    """
    changed = athena().change_settings(changes)
    if _served_with:
        use_settings(changed)


def athena() -> Athena:
    """Return the Athena of this process, opened at first use."""
    return opened()


def settings() -> Settings:
    """Return the settings without opening Athena."""
    from athena import load_settings

    return _served_with[0] if _served_with else load_settings()


@st.cache_resource(show_spinner="Opening the documents …")
def opened() -> Athena:
    """Return the Athena of this process, also outside of a session."""
    from athena import open_athena

    athena = open_athena(settings())
    athena.warm_up(serving=True)
    return athena


def name_of_assistant() -> str:
    """Return the assistant's name; the page reports a persona file that cannot be read."""
    try:
        return load_persona(settings().persona).name
    except AthenaError as error:
        log.warning("the persona cannot be read: %s", error)
        return Persona().name


def is_the_ships(documents: Iterable[DocumentInfo]) -> bool:
    """Return whether the manuals that come with Athena are among the documents."""
    return any(info.source.endswith(MANUAL) for info in documents)


@st.cache_resource(ttl=MODEL_KEPT_S, show_spinner=False, hash_funcs={"athena.assistant.Athena": id})
def _chosen(opened: Athena, llm: str) -> ModelChoice:
    del llm  # another setting is looked up anew
    return opened.models.language_model()[1]


def chosen_model() -> ModelChoice:
    """Return the language model that answers, or why there is none."""
    return _chosen(athena(), settings().llm)


def answering_model() -> str:
    """Return the name of the model that answers; "" if answers are quotes."""
    return chosen_model().name


def look_for_models() -> None:
    """Look for the language model again at its next use."""
    _chosen.clear()
