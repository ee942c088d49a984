"""What an answer had from memory and what was kept of it: ids in the steps, filled in as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.answering.recollection import FORGOTTEN
from pipeline.steps.records import RecallStep, RememberStep, step_of
from pipeline.words import counted
from ui.conversation.forgetting import user_memory
from ui.shared.words import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.answer import Answer

KEPT = {
    "added": "kept",
    "touched": "known, in other words",
    "known": "known",
    "replaced": "took another's place",
    "disputed": "contradicts another",
    "untrusted": "kept, and never acted on",
}


def memory_steps(answer: Answer) -> None:
    """Draw what was recalled for the answer, and what was remembered after it; nothing without either."""
    names = {step.name for step in answer.steps}
    if not names & {"recall", "remember"}:
        return
    st.subheader("Memory", anchor=False)
    _recalled(step_of(answer.steps, RecallStep))
    _kept(step_of(answer.steps, RememberStep))


def _recalled(step: RecallStep) -> None:
    ids = [*step.static, *step.graph, *(item.memory_id for item in step.recalled)]
    if not ids:
        st.caption(plain(f"Nothing was recalled{f': {step.detail}' if step.detail else ''}."))
        return
    said = _said(ids)
    rows: list[dict[str, Any]] = [{"Recalled": said[known], "As": "persona"} for known in step.static]
    rows += [{"Recalled": said[known], "As": "graph"} for known in step.graph]
    rows += [
        {
            "Recalled": said[item.memory_id],
            "As": "memory",
            "Score": round(item.score, 3),
            "Relevance": round(item.relevance, 3),
            "Recency": round(item.recency, 3),
            "Importance": item.importance,
        }
        for item in step.recalled
    ]
    st.caption(
        f"{counted(step.considered, 'candidate')}; relevance of at least {step.threshold:.2f} was needed. "
        "None of it is evidence."
    )
    st.dataframe(rows, hide_index=True)


def _kept(step: RememberStep) -> None:
    found = [(known, words) for name, words in KEPT.items() for known in getattr(step, name)]
    said = _said(known for known, _ in found)
    rows = [{"Remembered": said[known], "What became of it": words} for known, words in found]
    if rows:
        st.dataframe(rows, hide_index=True)
    elif step.detail:
        st.caption(plain(f"Nothing was kept: {step.detail}."))


def _said(ids: Iterable[str]) -> dict[str, str]:
    wanted = list(ids)
    texts = user_memory().texts(wanted)
    return {known: one_line(texts.get(known, FORGOTTEN)) for known in wanted}
