"""What if: the same question, searched for with other settings, beside what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.answer import Answer, Retrieval
from pipeline.answering.written_answers import called_tools
from pipeline.errors import AthenaError
from pipeline.finding.why import alternative_of
from pipeline.steps.records import call_line, data_of
from pipeline.stores.conversations import scope_of
from pipeline.stores.globs import as_globs
from ui.conversation import whose
from ui.conversation.agents import left_out
from ui.conversation.model_picker import picked_model
from ui.inspector import flow
from ui.shared import components, process
from ui.shared.state import kept
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.stores.conversations import Turn


@dataclass(slots=True)
class Comparison:
    """The last two searches of this session, and the turn they belong to."""

    turn_id: str = ""
    found: tuple[Retrieval, Retrieval] | None = None


def what_if(turn: Turn) -> None:
    """Draw the settings, and once they are searched with, the comparison."""
    last = kept(Comparison)
    if called_tools(turn.answer):
        _without_a_tool(turn.answer)
        return
    before = options_of(turn.answer)
    with st.form("what_if_form"):
        options = _options_form(before)
        searched = st.form_submit_button("Search again", type="primary", icon=":material/search:")
    if searched:
        try:
            found = _both(turn.answer, before, options)
        except AthenaError as error:
            st.error(plain(str(error)))
            return
        last.turn_id, last.found = turn.id, found
    if last.found is None or last.turn_id != turn.id:
        st.caption("Change a setting and search again: both rankings are shown side by side.")
        return
    _compare(*last.found)


def _without_a_tool(answer: Answer) -> None:
    """Replay an agent's run with tools removed, and show both runs; nothing of it is kept."""
    before = [step for step in answer.steps if step.name == "tool"]
    used = [name for name in dict.fromkeys(step.data["tool"] for step in before) if name != "remember"]
    with st.form("what_if_agent"):
        without = st.multiselect("Replay without these tools", used, default=used[-1:])
        asked = st.form_submit_button("Run again", type="primary", icon=":material/play_arrow:")
    st.caption("Nothing of a replay is kept or remembered, and what may change something is not called.")
    left, right = st.columns(2)
    left.markdown("**As answered**\n" + "".join(f"\n1. {plain(call_line(step))}" for step in before))
    left.text(answer.text)
    if not asked:
        return
    from agent import agent_of

    athena = process.athena()
    there = athena.private_conversations.create(user=whose.user()).info.id
    try:
        with right, st.spinner("Running again …"):
            again = athena.ask(
                answer.condensed_question or answer.question,
                conversation_id=there,
                llm=picked_model(),
                paths=as_globs(scope_of(answer)),
                user=whose.user(),
                agent=agent_of(athena).but(without={*without, *left_out(answer.conversation_id)}),
                private=True,
            )
    except AthenaError as error:
        right.error(plain(str(error)))
        return
    finally:
        athena.private_conversations.delete(there)
    calls = [step for step in again.steps if step.name == "tool"]
    right.markdown("**Without them**\n" + "".join(f"\n1. {plain(call_line(step))}" for step in calls))
    right.text(again.text)


def _both(answer: Answer, before: RetrievalOptions, after: RetrievalOptions) -> tuple[Retrieval, Retrieval]:
    """The answer's search made again, and another; both with its hypothesis, where it had one."""
    search, question = process.athena().hybrid_search.search, answer.condensed_question or answer.question
    hypothesis = data_of(answer.steps, "hyde").get("hypothesis", "")
    alternative = alternative_of(answer.steps)
    return (
        search(question, options=before, hypothesis=hypothesis, alternative=alternative),
        search(question, options=after, hypothesis=hypothesis or None, alternative=alternative),
    )


def options_of(answer: Answer) -> RetrievalOptions:
    """The options that the answer was found with, as far as it kept them."""
    return process.athena().options.with_kept(answer.settings)


def _options_form(now: RetrievalOptions) -> RetrievalOptions:
    left, middle, right = st.columns(3)
    with left:
        alpha = st.slider("alpha: 0 = words only (BM25), 1 = meaning only", 0.0, 1.0, now.alpha, 0.05)
        candidates = st.slider("Candidates of each list (hits)", 10, 500, now.candidates, 10)
        top_k = st.slider("Most passages kept (top_k)", 1, 30, now.top_k)
    with middle:
        bm25 = st.slider("BM25: share of whole sections (0 to 1)", 0.0, 1.0, now.bm25_section_share, 0.05)
        dense = st.slider("Dense: share of whole sections (0 to 1)", 0.0, 1.0, now.dense_section_share, 0.05)
        thresh = st.slider("Whole section from (share of sentences)", 0.0, 1.0, now.simple_ratio_thresh, 0.05)
    with right:
        tokens = st.slider("Room for passages (tokens)", 200, 8000, now.context_tokens, 100)
        top_n = st.slider("Passages that are reranked", 1, 50, now.rerank_top_n)
        rerank = st.checkbox("Rerank with the cross-encoder", now.rerank)
        spelling = st.checkbox("Correct the spelling", now.spelling)
        merge_up = st.checkbox("Merge sections into their parent", now.merge_up)
        ratio = st.slider("Parent from (share of sections)", 0.0, 1.0, now.merge_up_ratio, 0.05)
        hyde = st.checkbox("HyDE: search with a hypothetical answer", now.hyde)
    return now.but(
        alpha=alpha,
        candidates=candidates,
        top_k=top_k,
        bm25_section_share=bm25,
        dense_section_share=dense,
        simple_ratio_thresh=thresh,
        context_tokens=tokens,
        rerank_top_n=top_n,
        rerank=rerank,
        spelling=spelling,
        hyde=hyde,
        merge_up=merge_up,
        merge_up_ratio=ratio,
    )


def refusal(before: Retrieval, after: Retrieval) -> str:
    """Which of the two searches would be refused an answer, and how far it is from one; "" where none."""
    was, would = (_is_refused(found) for found in (before, after))
    if would:
        again = "too, " if was else ""
        return f"**Your settings would refuse this question**, {again}as {_how_likely(after)}."
    return f"**Your settings would answer**: before, it is refused, as {_how_likely(before)}." if was else ""


def _is_refused(found: Retrieval) -> bool:
    return found.answerability.verdict == "not in the documents" or not found.passages


def _how_likely(found: Retrieval) -> str:
    judged = found.answerability
    return f"the documents answer it by {judged.probability:.0%} only, and {judged.threshold:.0%} are needed"


def _compare(before: Retrieval, after: Retrieval) -> None:
    if refused := refusal(before, after):
        st.warning(refused, icon=":material/search_off:")
    left, right = flow.ranks(before.steps), flow.ranks(after.steps)
    changed = [flow.movement(left.rank("Selected", i), right.rank("Selected", i)) for i in
               dict.fromkeys([*left.selected, *right.selected])]  # fmt: skip
    differences = sum(1 for change in changed if change != "=")
    if differences:
        word = "passage differs" if differences == 1 else "passages differ"
        st.markdown(f"**{differences} {word}.** Coloured lines changed: ↑ rose, ↓ fell, new, dropped.")
    else:
        st.markdown("**Both ways select the same passages in the same order.**")
    view = flow.comparison_view(left, right, names=("As answered", "Your settings"))
    components.bumps(key="compared", data=view)
    components.flow(key="compared_flow", data=flow.flow_view(after.steps))
