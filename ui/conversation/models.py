"""Which language model answers, and which could: looked up at most once a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ui.shared import process

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import ModelChoice

KEPT_S = 60


@st.cache_resource(ttl=KEPT_S, show_spinner=False)
def _chosen(_athena: Athena, key: tuple[int, str]) -> ModelChoice:  # noqa: ARG001  (what it is kept by)
    return _athena.models.language_model()[1]


def chosen_model() -> ModelChoice:
    """Return the language model that answers, with the reason and advice where there is none."""
    athena = process.athena()
    return _chosen(athena, (id(athena), athena.settings.llm))


@st.cache_resource(ttl=KEPT_S, show_spinner=False)
def _offered(_athena: Athena, key: tuple[int, str, str | None]) -> list[str]:  # noqa: ARG001
    return _athena.models.language_models()


def offered_models() -> list[str]:
    """Return the names of the models that both servers offer, with `none` at the end."""
    athena = process.athena()
    settings = athena.settings
    return _offered(athena, (id(athena), settings.ollama_url, settings.openai_base_url))


def answering_model() -> str:
    """Return the name of the model that answers; "" where answers are quotes."""
    return chosen_model().name


def look_for_models() -> None:
    """Look again at the next use: one was started, or went away."""
    _chosen.clear()
    _offered.clear()
