"""The settings, the Athena and the persona of this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.settings import Settings
from pipeline.answering.persona import Persona, load_persona
from ui.shared.state import kept

if TYPE_CHECKING:
    from athena import Athena

PROXY_USER = "athena_user"
"""The key in `st.user` of the name that a proxy's header gives."""

_served_with: list[Settings] = []  # at most one: what `athena serve` was started with


@dataclass(slots=True)
class GivenAthena:
    """An Athena for this session alone, as tests need it."""

    athena: Athena | None = None


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
    """Return the Athena of this process, opened at first use, or the one given to the session."""
    return kept(GivenAthena).athena or opened()


def settings() -> Settings:
    """Return the settings without opening Athena."""
    given = kept(GivenAthena).athena
    return given.settings if given else _settings()


def _settings() -> Settings:
    from athena import load_settings

    return _served_with[0] if _served_with else load_settings()


@st.cache_resource(show_spinner="Opening the documents …")
def opened() -> Athena:
    """Return the Athena of this process, also outside of a session."""
    from athena import open_athena

    athena = open_athena(_settings())
    athena.warm_up(serving=True)
    return athena


def persona() -> Persona:
    """Return the persona of the chat. Raises ConfigurationError if its file cannot be read."""
    return load_persona(settings().persona)
