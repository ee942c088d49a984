"""What if: repeat the search of an answer with other settings, and compare both selections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pipeline.answer import Answer, Retrieval
from pipeline.errors import AthenaError
from pipeline.steps.records import data_of
from ui.inspector.ranks import Ranks, draw_chart, ranks_of
from ui.shared import process
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.stores.turns import Turn

BEFORE, AFTER = "As answered", "Your settings"


def what_if(turn: Turn) -> None:
    """Draw four settings; a click searches with them and draws the comparison."""
    before = options_of(turn.answer)
    with st.form("what_if_form"):
        options = _controls(before)
        searched = st.form_submit_button("Search again", type="primary", icon=":material/search:")
    if not searched:
        st.caption("Change a setting and search again to compare both rankings. Nothing is stored.")
        return
    hypothesis = data_of(turn.answer.steps, "hyde").get("hypothesis", "")
    try:
        then = _search(turn.answer, before, hypothesis)
        now = _search(turn.answer, options, hypothesis or None)  # None: a new one, if HyDE is on
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    _compare(then, now)


def options_of(answer: Answer) -> RetrievalOptions:
    """Return the options of the answer's search, as far as it stored them."""
    return process.athena().options.with_kept(answer.settings)


def _controls(now: RetrievalOptions) -> RetrievalOptions:
    left, right = st.columns(2)
    alpha = left.slider("Words (0) or meaning (1)", 0.0, 1.0, now.alpha, 0.05)
    top_k = left.slider("Most passages", 1, 30, now.top_k)
    rerank = right.checkbox("Rerank with the cross-encoder", now.rerank)
    hyde = right.checkbox("Search with a hypothetical answer, too (HyDE)", now.hyde)
    return now.but(alpha=alpha, top_k=top_k, rerank=rerank, hyde=hyde)


def _search(answer: Answer, options: RetrievalOptions, hypothesis: str | None) -> Retrieval:
    """Search again for the answer's question."""
    return process.athena().hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=hypothesis,
    )


def _compare(before: Retrieval, after: Retrieval) -> None:
    then, now = ranks_of(before.steps), ranks_of(after.steps)
    verdicts = [found.answerability.verdict for found in (before, after)]
    if verdicts[0] != verdicts[1]:
        st.info(f"The verdict changes from “{verdicts[0]}” to “{verdicts[1]}”.")
    if [*then.selected] == [*now.selected]:
        st.markdown("**Both select the same passages in the same order.**")
    both = Ranks(
        {BEFORE: then.selected, AFTER: now.selected}, {**then.places, **now.places}, dict(now.left_out)
    )
    draw_chart(both, key="compared")
