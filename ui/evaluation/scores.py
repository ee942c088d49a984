"""What scores are called, and what each can and cannot see."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

SEES: Mapping[str, str] = {
    "hit@3": "sees whether one of the first three passages has half of what answers; not what is said of it.",
    "MRR": "sees how early the first passage with the answer comes; not the passages after it.",
    "nDCG@10": "sees how early all that answers comes, in ten passages; not whether a reader understands it.",
    "similarity": "sees how near the answer comes to a reference; not a wrong number, unit or negation.",
    "abstained_rightly": "sees whether it answered exactly where the documents do; not what it answered.",
    "answered": "sees whether the reply has the words that answer; not what stands around them.",
}


def metric_choice(metrics: Mapping[str, float], *, key: str) -> str:
    """Draw the choice of a score, with what it can and cannot see; its name."""
    metric = str(st.selectbox("Score", list(metrics), key=key, format_func=in_words))
    if metric in SEES:
        st.caption(f"{in_words(metric)} {SEES[metric]}")
    return metric


def in_words(metric: str) -> str:
    """A score's name as it is shown."""
    return metric.replace("_", " ")
