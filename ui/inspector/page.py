"""The inspector: how an answer was found, the results with other settings, and why a section is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError, UnknownConversation
from pipeline.finding.why import NOT_INDEXED, Why, why
from pipeline.steps.events import KEPT_RANKS
from pipeline.steps.records import data_of
from ui.conversation import whose
from ui.inspector.ranks import Ranks, draw_chart, ranks_of, step_boxes, step_name
from ui.shared import components, process, state
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.answer import Answer, Retrieval
    from pipeline.nodes import Node
    from pipeline.options import RetrievalOptions
    from pipeline.stores.turns import Turn

BEFORE, AFTER = "As answered", "Your settings"


def page() -> None:
    """Draw the page about one answer."""
    with st.container(key="page"):
        st.header("How this was found", anchor=False)
        turn = _inspected()
        if turn is None or not turn.answer.steps:
            st.info("Nothing to inspect here. Choose “How was this found?” below an answer.")
            return
        st.text(turn.question)
        tabs = st.tabs(
            ["Steps and ranks", "What if", "Why not this section?"], key="inspected", on_change="rerun"
        )
        for tab, draw in zip(tabs, (_found, what_if, why_not), strict=True):
            if tab.open:
                with tab:
                    st.fragment(draw)(turn)


def _inspected() -> Turn | None:
    """Return the turn that the address names, else the last one; None if there is no turn."""
    try:
        turns = whose.get(state.conversation_id()).turns
    except UnknownConversation:
        return None
    number = st.query_params.get(state.ANSWER, "")
    if number.isdecimal() and 0 < int(number) <= len(turns):
        return turns[int(number) - 1]
    return turns[-1] if turns else None


def _found(turn: Turn) -> None:
    answer = turn.answer
    components.flow(key="flow", data=step_boxes(answer.steps))
    if answer.condensed_question not in ("", answer.question):
        st.caption(f"Searched for: {plain(answer.condensed_question)}")
    ranks = ranks_of(answer.steps)
    if ranks.columns["Fused"]:
        st.subheader("Ranks from list to list", anchor=False)
        st.caption(
            "Each line is a section, each circle its rank in a list. Coloured sections went into the answer."
        )
        draw_chart(ranks, key="ranks")


def why_not(turn: Turn) -> None:
    """Draw the choice of a document and a section, and the step of the search that left the section out."""
    store = process.athena().store
    source = st.selectbox(
        "The document that you expected",
        [info.source for info in store.documents()],
        index=None,
        placeholder="Choose a document",
        key="expected",
    )
    if not source:
        st.caption("You will see the step that left a section out.")
        return
    try:
        sections = store.document(source).sections
        paths = [" > ".join(section.metadata["heading_path"]) for section in sections]
        heading = st.selectbox("Its section", paths, key=f"in-{source}")
        found = _search(turn.answer, options_of(turn.answer), ranks=None)
        reason = why(found, store=store, source=source, heading=heading or "")
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    named = (section for section, path in zip(sections, paths, strict=True) if path == heading)
    shown = any(_is_shown(turn.answer, source, section) for section in named)
    st.markdown(f"**{_fate(reason, shown=shown)}**")
    st.text(reason.explanation)


def _is_shown(answer: Answer, source: str, section: Node) -> bool:
    """Return whether the answer cites a passage of the section."""
    start, end = int(section.start_char_idx or 0), int(section.end_char_idx or 0)
    return any(one.source == source and one.start < end and start < one.end for one in answer.citations)


def _fate(reason: Why, *, shown: bool) -> str:
    if reason.dropped_by == NOT_INDEXED:
        return "Not indexed"
    if reason.dropped_by:
        return f"Left out by: {step_name(reason.dropped_by)}"
    return "The answer shows it" if shown else "Found, but the answer does not show it"


# -- what if -----------------------------------------------------------------------------------------------


def what_if(turn: Turn) -> None:
    """Draw four settings; a click searches with them and draws the comparison."""
    before = options_of(turn.answer)
    with st.form("what_if_form"):
        options = _controls(before)
        searched = st.form_submit_button("Search again", type="primary", icon=":material/search:")
    if not searched:
        st.caption("Change a setting and search again to compare both rankings. Nothing is stored.")
        return
    try:
        then = _search(turn.answer, before)
        now = _search(turn.answer, options)
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    _compare(then, now)


def options_of(answer: Answer) -> RetrievalOptions:
    """Return the search options stored with the answer; the current ones for those not stored."""
    return process.athena().options.with_kept(answer.settings)


def _controls(now: RetrievalOptions) -> RetrievalOptions:
    left, right = st.columns(2)
    alpha = left.slider("Words (0) or meaning (1)", 0.0, 1.0, now.alpha, 0.05)
    top_k = left.slider("Passages at most", 1, 30, now.top_k)
    rerank = right.checkbox("Rerank with the cross-encoder", now.rerank)
    merge_up = right.checkbox("Merge sections into the one above them", now.merge_up)
    return now.but(alpha=alpha, top_k=top_k, rerank=rerank, merge_up=merge_up)


def _search(answer: Answer, options: RetrievalOptions, *, ranks: int | None = KEPT_RANKS) -> Retrieval:
    """Search again for the answer's question; the steps keep the first `ranks` of each list (None = all)."""
    return process.athena().hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=data_of(answer.steps, "embed").get("hypothesis", ""),
        ranks=ranks,
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
