"""The language model that answers, and the models that could: looked up at most once a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ui.shared import process

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import ModelChoice

KEPT_S = 60


@st.cache_resource(ttl=KEPT_S, show_spinner=False, hash_funcs={"athena.assistant.Athena": id})
def _chosen(athena: Athena, llm: str) -> ModelChoice:
    del llm  # another setting is looked up anew
    return athena.models.language_model()[1]


def chosen_model() -> ModelChoice:
    """Return the language model that answers, or why there is none."""
    athena = process.athena()
    return _chosen(athena, athena.settings.llm)


def answering_model() -> str:
    """Return the name of the model that answers; "" if answers are quotes."""
    return chosen_model().name


def look_for_models() -> None:
    """Look again at the next use."""
    _chosen.clear()
