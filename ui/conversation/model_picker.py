"""The language model: which one answers, and the field to pick another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from ui.shared import process
from ui.shared.state import entered, kept

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import ModelChoice

AUTO = "auto"
NO_MODEL = "none"
MODELS_KEPT = 60  # seconds
PICKER = "language-model"


@dataclass(slots=True)
class PickedModel:
    """The model picked in this session, on whichever page; `AUTO` is the one that Athena finds."""

    name: str = AUTO


@st.cache_resource(ttl=MODELS_KEPT, show_spinner=False)
def _models(_athena: Athena, key: int) -> tuple[ModelChoice, list[str]]:  # noqa: ARG001
    return _athena.models.language_model()[1], _athena.models.language_models()


def models() -> tuple[ModelChoice, list[str]]:
    """The language model that Athena finds, and the names to pick from; looked up at most once a minute."""
    athena = process.athena()
    return _models(athena, id(athena))


def look_for_models() -> None:
    """Look again at once: one was started, or went away."""
    _models.clear()


def found_model() -> str:
    """The name of the language model that Athena finds by itself; "" where there is none."""
    return models()[0].name


def picked_model() -> str | None:
    """The language model picked in this session; None = the one that Athena finds."""
    # What was chosen a moment ago may not be drawn yet.
    name = entered(PICKER) or kept(PickedModel).name
    return None if name == AUTO else name


def answering_model() -> str:
    """The name of the model that answers; "" where answers are quotes."""
    picked = picked_model()
    if picked is None:
        return found_model()
    return "" if picked == NO_MODEL else picked


def model_picker() -> None:
    """Pick the language model, or none, and see what is connected."""
    choice, names = models()
    options = list(dict.fromkeys([AUTO, *names, NO_MODEL]))
    picked = kept(PickedModel)
    if picked.name not in options:
        picked.name = AUTO
    advice = " ".join(filter(None, [choice.detail, choice.fix]))
    # Kept apart from the widget, whose value is gone once a page without it was shown.
    picked.name = st.selectbox(
        "Language model",
        options,
        index=options.index(picked.name),
        format_func=_label,
        help=advice or None,
        key=PICKER,
    )


def _label(name: str) -> str:
    if name == AUTO:
        return f"Automatic: {found_model() or 'none found'}"
    return "None: answer with quotes" if name == NO_MODEL else name
