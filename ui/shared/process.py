"""The settings of this process, its Athena, and the names of the assistant and the language model."""

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
"""The key in `st.user` for the user's name from the proxy's header."""

MODEL_KEPT_S = 60
"""Seconds after which the language model is looked up again."""

_served_with: list[Settings] = []  # at most one: the settings of `athena serve`


def use_settings(settings: Settings) -> None:
    """Use these settings in this process instead of those of the environment."""
    _served_with[:] = [settings]


def change_settings(changes: Mapping[str, Any]) -> None:
    """Store changed settings and use them in every session, from the next question on.

    Raises `ConfigurationError` if a value is invalid or cannot be stored; then nothing changes.
    """
    changed = athena().change_settings(changes)
    if _served_with:
        use_settings(changed)


def athena() -> Athena:
    """Return the Athena of this process, opened at first use."""
    return opened()


def settings() -> Settings:
    """Return the settings of `use_settings`, else those of the environment; does not open Athena."""
    from athena import load_settings

    return _served_with[0] if _served_with else load_settings()


@st.cache_resource(show_spinner="Opening the documents …")
def opened() -> Athena:
    """Return the Athena of this process; opens and warms it up once. Works outside of a session, too."""
    from athena import open_athena

    athena = open_athena(settings())
    athena.warm_up(serving=True)
    return athena


def name_of_assistant() -> str:
    """Return the assistant's name; the default name if the persona cannot be read, which the page shows."""
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
    del llm  # only a part of the cache's key
    return opened.models.language_model()[1]


def chosen_model() -> ModelChoice:
    """Return the language model that answers, or why there is none; cached for `MODEL_KEPT_S`."""
    return _chosen(athena(), settings().llm)


def answering_model() -> str:
    """Return the name of the model that answers; "" if answers are quotes."""
    return chosen_model().name


def look_for_models() -> None:
    """Drop the cached language model: its next use looks for it again."""
    _chosen.clear()
