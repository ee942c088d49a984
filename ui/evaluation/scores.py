"""What scores are called, and what each can and cannot see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from ui.evaluation.judges import figures_of
from ui.shared.words import plain

if TYPE_CHECKING:
    from evals.results import Configuration

JUDGED = "judged_"
"""How the names of a language model's scores begin."""

SEES: Mapping[str, str] = {
    "hit@3": "sees whether one of the first three passages has half of what answers; not what is said of it.",
    "MRR": "sees how early the first passage with the answer comes; not the passages after it.",
    "nDCG@10": "sees how early all that answers comes, in ten passages; not whether a reader understands it.",
    "similarity": "sees how near the answer comes to a reference; not a wrong number, unit or negation.",
    "abstained_rightly": "sees whether it answered exactly where the documents do; not what it answered.",
    "answered": "sees whether the reply has the words that answer; not what stands around them.",
}


def metric_choice(one: Configuration, *, key: str) -> str:
    """Draw the choice of a configuration's scores, with what each can and cannot see; its name.

    Beside a score that a language model gave stands how far that model can be believed.
    """
    from evals.results import LANGUAGE_MODEL

    metric = str(st.selectbox("Score", list(one.metrics), key=key, format_func=in_words))
    if metric in SEES:
        st.caption(f"{in_words(metric)} {SEES[metric]}")
    if metric.startswith(JUDGED):
        st.caption(plain(figures_of(one.models.get(LANGUAGE_MODEL, ""))))
    return metric


def in_words(metric: str) -> str:
    """A score's name as it is shown."""
    return metric.replace("_", " ")
