"""How often something was recalled for the latest answers, and how relevant it was."""

from __future__ import annotations

import streamlit as st

from pipeline.steps.records import last_step
from pipeline.words import counted
from ui.conversation import whose
from ui.shared import process

LATEST = 20  # conversations


def figures() -> None:
    """Draw the figures, where an answer has looked anything up."""
    recalls = recalled_lately()
    if not recalls:
        return
    recalled = sum(map(bool, recalls))
    with st.expander("How often it is used", icon=":material/bar_chart:"):
        share = f"{recalled} of the last {counted(len(recalls), 'answer')} ({recalled / len(recalls):.0%})"
        st.text(f"A fact was recalled in {share}.")
        if relevance := [value for found in recalls for value in found]:
            counts = [sum(int(10 * value) == tenth for value in relevance) for tenth in range(10)]
            st.bar_chart({"facts": counts}, height=160, x_label="relevance in tenths", y_label="facts")


def recalled_lately() -> list[list[float]]:
    """Return the relevance of the recalled facts, by answer of this user's latest conversations."""
    conversations = process.athena().conversations
    latest = conversations.list(user=whose.user(), limit=LATEST)
    turns = [turn for info in latest for turn in conversations.get(info.id).turns]
    steps = (last_step(turn.answer.steps, "recall") for turn in turns)
    return [[item["relevance"] for item in step.data.get("recalled", ())] for step in steps if step]
