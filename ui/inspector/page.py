"""The inspector: how an answer was found, what other settings would find, and why a page was not found."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.answer import Answer, Retrieval
from pipeline.errors import AthenaError, UnknownDocument
from pipeline.steps.records import HydeStep, PromptStep, RerankStep, Step, step_of
from ui.conversation.turns import one_line, shortened
from ui.inspector import flow
from ui.shared import components, state, style
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.finding.why import Why
    from pipeline.retrieve import RetrievalOptions
    from pipeline.stores.conversations import Turn

WHAT_IF = "what_if"
WHY = "why"
NO_SECTION = "Choose a section"
BARS = st.column_config.ProgressColumn


def page() -> None:
    """The page as Streamlit runs it."""
    style.apply()
    with st.container(key="page"):
        st.header("Inspector", anchor=False)
        turn = _choose_turn()
        if turn is None:
            return
        if not turn.answer.steps:
            st.info("No steps were kept for this answer: it ended too early.")
            return
        found, what_if, why = st.tabs(["How it was found", "What if", "Why not this page?"])
        with found:
            _found(turn.answer)
        with what_if:
            _what_if(turn)
        with why:
            _why(turn)


def _choose_turn() -> Turn | None:
    """The conversation and the question in it to look at; the one that was asked about comes first."""
    conversations = state.athena().conversations
    listed = [info for info in conversations.list() if info.turns]
    if not listed:
        st.text("Nothing has been asked yet. Ask a question, then come back to see how its answer was found.")
        return None
    titles = {info.id: info.title for info in listed}
    current = state.conversation_id()
    ids = list(titles)
    left, right = st.columns(2)
    conversation_id = left.selectbox(
        "Conversation", ids, index=ids.index(current) if current in ids else 0,
        format_func=lambda item: titles[item] or "Untitled", key="inspected_conversation",
    )  # fmt: skip
    turns = {turn.id: turn for turn in conversations.get(str(conversation_id)).turns}
    asked = list(turns)
    wanted = st.session_state.get(state.INSPECTED)
    turn_id = right.selectbox(
        "Question",
        asked,
        index=asked.index(wanted) if wanted in turns else len(asked) - 1,
        format_func=lambda item: shortened(one_line(turns[item].question), 90),
        key=f"inspected-{conversation_id}",
    )
    st.session_state[state.INSPECTED] = turn_id
    return turns[str(turn_id)]


def _found(answer: Answer) -> None:
    steps = answer.steps
    components.flow(key="flow", data=flow.flow_view(steps))
    _question(answer)
    ranks = flow.ranks(steps)
    if ranks.columns["Fused"]:
        st.subheader("From list to list", anchor=False)
        st.caption(
            "Each line is a section, each circle its rank in that list. Coloured: the answer rests on it."
        )
        components.bumps(key="bumps", data=flow.bumps_view(ranks), on_choose_change=lambda: None)
        _tables(steps, ranks)
    _prompt(steps)
    _settings(answer)


def _question(answer: Answer) -> None:
    left, right = st.columns(2)
    with left:
        st.subheader("Question", anchor=False)
        st.text(answer.question)
        if answer.condensed_question and answer.condensed_question != answer.question:
            st.caption("Searched for, with what the conversation adds")
            st.text(answer.condensed_question)
    with right:
        st.subheader("Hypothesis", anchor=False)
        step = step_of(answer.steps, HydeStep)
        if step.hypothesis:
            st.text(step.hypothesis)
        else:
            st.caption(f"None was written: {step.detail}." if step.detail else "None was written.")


def _tables(steps: tuple[Step, ...], ranks: flow.Ranks) -> None:
    fusion, merged, reranked, sentences = st.tabs(["Fusion", "Merges", "Rerank", "Sentences"])
    with fusion:
        rows = flow.contributions(steps, ranks)
        top = max((row["Fused score"] for row in rows), default=1.0)
        bars = {n: BARS(n, format="%.3f", max_value=top) for n in ("Fused score", *flow.LISTS.values())}
        st.dataframe(rows, column_config=bars, hide_index=True)
    with merged:
        lines = flow.merges(steps, ranks)
        for line in lines:
            st.text(line)
        if not lines:
            st.caption("No section had enough of its sentences found to replace them.")
    with reranked:
        rows = flow.rerank_rows(steps, ranks)
        step = step_of(steps, RerankStep)
        if rows:
            st.dataframe(
                rows, column_config={"cross-encoder": BARS("cross-encoder", format="%.3f")}, hide_index=True
            )
        else:
            st.caption(f"Not reranked: {step.detail}." if step.detail else "Not reranked.")
    with sentences:
        _sentence_ranks(steps, ranks)


def _sentence_ranks(steps: tuple[Step, ...], ranks: flow.Ranks) -> None:
    """BM25 and dense rank of each found sentence, with its text."""
    rows = flow.sentence_rows(steps, ranks)
    texts = state.athena().store.sentences.get_many([row["id"] for row in rows])
    table = [
        {"Sentence": one_line(texts[row["id"]].text) if row["id"] in texts else "not indexed any more"}
        | {name: value for name, value in row.items() if name != "id"}
        for row in rows
    ]
    st.dataframe(table, hide_index=True)


def _prompt(steps: tuple[Step, ...]) -> None:
    step = step_of(steps, PromptStep)
    st.subheader("Prompt", anchor=False)
    if not step.messages:
        st.caption("No prompt was written: without a language model the answer is made of quotes.")
        return
    with st.expander(f"{len(step.messages)} messages, {step.tokens:,} tokens"):
        for message in step.messages:
            st.caption(message.role)
            st.code(message.text, language=None, wrap_lines=True)


def _settings(answer: Answer) -> None:
    if answer.settings:
        with st.expander("Settings of this answer"):
            st.dataframe(
                [{"Setting": name, "Value": str(value)} for name, value in answer.settings.items()],
                hide_index=True,
            )


def _what_if(turn: Turn) -> None:
    """Rerun the search with other settings, and compare."""
    before = _options_of(turn.answer)
    with st.form("what_if_form"):
        options = _options_form(before)
        searched = st.form_submit_button("Search again", type="primary", icon=":material/search:")
    if searched:
        try:
            st.session_state[WHAT_IF] = (turn.id, *_both(turn.answer, before, options))
        except AthenaError as error:
            st.error(plain(str(error)))
            return
    kept = st.session_state.get(WHAT_IF)
    if not kept or kept[0] != turn.id:
        st.caption("Change a setting and search again: both rankings are shown side by side.")
        return
    _compare(kept[1], kept[2])


def _both(answer: Answer, before: RetrievalOptions, after: RetrievalOptions) -> tuple[Retrieval, Retrieval]:
    """The answer's search made again, and another; both with its hypothesis, where it had one."""
    search, question = state.athena().hybrid_search.search, answer.condensed_question or answer.question
    hypothesis = step_of(answer.steps, HydeStep).hypothesis
    return (
        search(question, options=before, hypothesis=hypothesis),
        search(question, options=after, hypothesis=hypothesis or None),
    )


def _options_of(answer: Answer) -> RetrievalOptions:
    """The options that the answer was found with, as far as it kept them."""
    default = state.athena().options
    known: dict[str, Any] = {n: answer.settings[n] for n in asdict(default) if n in answer.settings}
    return replace(default, **known)


def _options_form(now: RetrievalOptions) -> RetrievalOptions:
    left, middle, right = st.columns(3)
    with left:
        alpha = st.slider("alpha: 0 = BM25 only, 1 = dense only", 0.0, 1.0, now.alpha, 0.05)
        candidates = st.slider("candidates of each list", 10, 500, now.candidates, 10)
        top_k = st.slider("top_k: most passages kept", 1, 30, now.top_k)
    with middle:
        bm25 = st.slider("sections' share of BM25", 0.0, 1.0, now.bm25_section_share, 0.05)
        dense = st.slider("sections' share of dense", 0.0, 1.0, now.dense_section_share, 0.05)
        thresh = st.slider("simple_ratio_thresh: merge from", 0.0, 1.0, now.simple_ratio_thresh, 0.05)
    with right:
        tokens = st.slider("token budget", 200, 8000, now.context_tokens, 100)
        top_n = st.slider("passages to rerank", 1, 50, now.rerank_top_n)
        rerank = st.checkbox("rerank with the cross-encoder", now.rerank)
        hyde = st.checkbox("HyDE: search with a hypothetical answer", now.hyde)
    return replace(
        now,
        alpha=alpha,
        candidates=candidates,
        top_k=top_k,
        bm25_section_share=bm25,
        dense_section_share=dense,
        simple_ratio_thresh=thresh,
        context_tokens=tokens,
        rerank_top_n=top_n,
        rerank=rerank,
        hyde=hyde,
    )


def _compare(before: Retrieval, after: Retrieval) -> None:
    left, right = flow.ranks(before.steps), flow.ranks(after.steps)
    changed = [flow.movement(left.rank("Selected", i), right.rank("Selected", i)) for i in
               dict.fromkeys([*left.selected, *right.selected])]  # fmt: skip
    differences = sum(1 for change in changed if change != "=")
    if differences:
        word = "passage differs" if differences == 1 else "passages differ"
        st.markdown(f"**{differences} {word}.** Coloured lines changed: ↑ rose, ↓ fell, new, gone.")
    else:
        st.markdown("**Both ways select the same passages in the same order.**")
    view = flow.comparison_view(left, right, names=("As answered", "Your settings"))
    components.bumps(key="compared", data=view, on_choose_change=lambda: None)
    components.flow(key="compared_flow", data=flow.flow_view(after.steps))


def _why(turn: Turn) -> None:
    """Pick a section that should have been found."""
    sections = _all_sections()
    label = st.selectbox(
        "The section that you expected", list(sections), index=None, placeholder=NO_SECTION, key="expected"
    )
    if not label:
        st.caption("You see whether it is indexed, where each list ranked it, and the step that dropped it.")
        return
    source, heading = sections[label]
    try:
        why = state.athena().why_answered(turn.answer, source, heading, options=_options_of(turn.answer))
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    st.markdown(f"**{_verdict(why)}**")
    st.text(why.explanation)
    if why.indexed:
        st.dataframe(_why_rows(why), hide_index=True)


def _verdict(why: Why) -> str:
    if not why.indexed:
        return "Not indexed"
    return (
        f"Dropped by: {flow.LABELS.get(why.dropped_by, why.dropped_by)}"
        if why.dropped_by
        else "It was selected"
    )


def _why_rows(why: Why) -> list[dict[str, Any]]:
    places = {flow.LISTS.get(name, name): place for name, place in why.lists.items()}
    places |= {"Fused": why.fused, "Reranked": why.reranked}
    rows = [{"List": name, "Rank": place.rank, "Score": place.score} for name, place in places.items()]
    return [*rows, {"List": "Selected", "Rank": why.final_rank, "Score": None}]


def _all_sections() -> dict[str, tuple[str, str]]:
    """Every section by its breadcrumb: (source, its own heading path joined)."""
    found: dict[str, tuple[str, str]] = {}
    store = state.athena().store.sections
    for info in store.documents():
        try:
            document = store.document(info.source)
        except UnknownDocument:  # deleted since the list was made
            continue
        for section in document.sections:
            path = [str(part) for part in section.metadata.get("heading_path") or []]
            found[" › ".join([info.source, *path])] = (info.source, " > ".join(path))
    return found
