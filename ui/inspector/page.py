"""The inspector: how an answer was found, what other settings would find, why a page was not found."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.answer import Answer
from pipeline.answering.recollection import FORGOTTEN
from pipeline.errors import AthenaError, UnknownConversation
from pipeline.finding.why import why_answered
from pipeline.steps.records import Step, call_line, data_of, last_step
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.finding import times
from ui.conversation.forgetting import user_memory
from ui.inspector import flow
from ui.inspector.what_if import options_of, what_if
from ui.shared import components, process, state, style
from ui.shared.corpus import sections_by_breadcrumb
from ui.shared.words import UNBROKEN_SPACE, one_line, plain, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.answer import Answer
    from pipeline.finding.why import Why
    from pipeline.stores.conversations import ConversationInfo, Turn

CALLED = {"documents": "search", "memory": "psychology", "tool": "build"}
OFFERED = 300
"""Conversations to choose from, the latest; the open one is among them."""

BARS = st.column_config.ProgressColumn


def page() -> None:
    """Draw the page."""
    style.apply()
    with st.container(key="page"):
        st.header("Inspector", anchor=False)
        turn = _choose_turn()
        if turn is None:
            return
        if not turn.answer.steps:
            st.info("No steps were kept for this answer: it ended too early.")
            return
        found, other, missing = st.tabs(["How it was found", "What if", "Why not this page?"])
        with found:
            _found(turn.answer)
        with other:
            what_if(turn)
        with missing:
            why_not(turn)


def _call(step: Step) -> str:
    """A call of an agent as a line of a list in a list."""
    time = flow.duration(step.ms).replace(" ", UNBROKEN_SPACE)
    return f"    - :material/{CALLED[step.data['kind']]}: {plain(call_line(step))} · {time}\n"


def _choose_turn() -> Turn | None:
    """The turn to look at, picked by conversation and question; the one that was asked about comes first."""
    listed = [info for info in _conversations() if info.turns]
    if not listed:
        st.text("Nothing has been asked yet. Ask a question, then come back to see how its answer was found.")
        return None
    used = times(listed, beside=())
    titles = {info.id: _called(info, used.get(info.id, "")) for info in listed}
    current = state.conversation_id()
    ids = list(titles)
    left, right = st.columns(2)
    conversation_id = left.selectbox(
        "Conversation", ids, index=ids.index(current) if current in ids else 0,
        format_func=titles.__getitem__, key="inspected_conversation",
    )  # fmt: skip
    chosen = str(conversation_id)
    turns = {turn.id: turn for turn in whose.store_of(chosen).get(chosen).turns}
    asked = list(turns)
    wanted = state.shared().inspected or _named_in_address(asked)
    turn_id = right.selectbox(
        "Question",
        asked,
        index=asked.index(wanted) if wanted in turns else len(asked) - 1,
        format_func=lambda item: shortened(one_line(turns[item].question), 90),
        key=f"inspected-{conversation_id}",
    )
    state.shared().inspected = str(turn_id)
    st.query_params.update({"c": chosen, state.ANSWER: str(asked.index(str(turn_id)) + 1)})
    return turns[str(turn_id)]


def _named_in_address(turn_ids: list[str]) -> str:
    """The turn that the address names, as that of the chat does; "" where it names none."""
    number = st.query_params.get(state.ANSWER, "")
    return turn_ids[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(turn_ids) else ""


def _called(info: ConversationInfo, time: str) -> str:
    """The title; the time tells it from others of that title."""
    return f"{info.title or 'Untitled'} · {time}" if time else info.title or "Untitled"


def _conversations() -> list[ConversationInfo]:
    """Those of this session's user; a private one while it is open."""
    current = state.conversation_id()
    private = process.athena().private_conversations.list(user=whose.user())
    stored = process.athena().conversations.list(user=whose.user(), limit=OFFERED)
    if current and current not in {info.id for info in (*private, *stored)}:
        with suppress(UnknownConversation):
            stored.append(whose.get(current).info)
    return [*(info for info in private if info.id == current), *stored]


def _found(answer: Answer) -> None:
    steps = answer.steps
    components.flow(key="flow", data=flow.flow_view(steps))
    _question(answer)
    if tree := flow.run_tree(steps):
        st.subheader("The agent's run", anchor=False)
        st.markdown("".join(f"- {plain(said)}\n" + "".join(map(_call, calls)) for said, calls in tree))
    ranks = flow.ranks(steps)
    if ranks.columns["Fused"]:
        st.subheader("From list to list", anchor=False)
        st.caption(
            "Each line is a section, each circle its rank in that list. Coloured: the answer rests on it."
        )
        components.bumps(key="bumps", data=flow.bumps_view(ranks))
        _tables(steps, ranks)
        _quotes_order(steps, ranks)
    memory_steps(answer)
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
        if answer.corrected:
            st.caption("Searched for, with its spelling corrected")
            st.text(answer.corrected)
    with right:
        st.subheader("Hypothesis", anchor=False)
        step = last_step(answer.steps, "hyde")
        if step and step.data.get("hypothesis"):
            st.text(step.data["hypothesis"])
        else:
            st.caption(f"None was written: {step.detail}." if step and step.detail else "None was written.")


def _tables(steps: tuple[Step, ...], ranks: flow.Ranks) -> None:
    fusion, merged, reranked, sentences = st.tabs(["Fusion", "Merges", "Rerank", "Sentences"])
    with fusion:
        rows = flow.contributions(steps, ranks)
        top = max((row["Fused score"] for row in rows), default=1.0)
        bars = {n: BARS(n, format="%.3f", max_value=top) for n in ("Fused score", *flow.LISTS.values())}
        st.dataframe(rows, column_config=bars, hide_index=True)
    with merged:
        _lines(
            [*flow.merges(steps, ranks), *flow.parents(steps)],
            otherwise="No section had enough of its sentences found, and no parent enough of its sections.",
        )
    with reranked:
        rows = flow.rerank_rows(steps, ranks)
        step = last_step(steps, "rerank")
        if rows:
            st.dataframe(
                rows, column_config={"cross-encoder": BARS("cross-encoder", format="%.3f")}, hide_index=True
            )
        else:
            st.caption(f"Not reranked: {step.detail}." if step and step.detail else "Not reranked.")
    with sentences:
        _sentence_ranks(steps, ranks)


def _quotes_order(steps: tuple[Step, ...], ranks: flow.Ranks) -> None:
    """Draw what the order of the quotes came from; nothing for an answer that a model wrote."""
    quotes = data_of(steps, "quote").get("quotes", ())
    if not quotes:
        return
    nodes = process.athena().store.sentences.get_many([quote["node_id"] for quote in quotes])
    sections = {node_id: node.section_id for node_id, node in nodes.items()}
    st.subheader("The order of the quotes", anchor=False)
    st.caption(
        "Numbered as they are shown. A quote's chance is that the answer stands in it, added up over its "
        "sentences; the best comes first, and what is asked for by its kind, as a fix, may be moved up."
    )
    st.dataframe(flow.quote_rows(steps, ranks, sections), hide_index=True)


def _lines(lines: list[str], *, otherwise: str) -> None:
    for line in lines:
        st.text(line)
    if not lines:
        st.caption(otherwise)


def _sentence_ranks(steps: tuple[Step, ...], ranks: flow.Ranks) -> None:
    """BM25 and dense rank of each found sentence, with its text."""
    rows = flow.sentence_rows(steps, ranks)
    texts = process.athena().store.sentences.get_many([row["id"] for row in rows])
    table = [
        {"Sentence": one_line(texts[row["id"]].text) if row["id"] in texts else "not indexed any more"}
        | {name: value for name, value in row.items() if name != "id"}
        for row in rows
    ]
    st.dataframe(table, hide_index=True)


def _prompt(steps: tuple[Step, ...]) -> None:
    step = data_of(steps, "prompt")
    st.subheader("Prompt", anchor=False)
    if not step.get("messages"):
        st.caption("No prompt was written: without a language model the answer is made of quotes.")
        return
    with st.expander(f"{counted(len(step['messages']), 'message')}, {counted(step['tokens'], 'token')}"):
        for message in step["messages"]:
            st.caption(message["role"])
            text = process.athena().filled_in(message["text"], user=whose.user())
            st.code(text, language=None, wrap_lines=True)


def _settings(answer: Answer) -> None:
    if answer.settings:
        with st.expander("Settings of this answer"):
            st.dataframe(
                [{"Setting": name, "Value": str(value)} for name, value in answer.settings.items()],
                hide_index=True,
            )


def why_not(turn: Turn) -> None:
    """Draw the choice of a section, and how far it came in the search."""
    sections = sections_by_breadcrumb()
    label = st.selectbox(
        "The section that you expected",
        list(sections),
        index=None,
        placeholder="Choose a section",
        key="expected",
    )
    if not label:
        st.caption("You see whether it is indexed, where each list ranked it, and the step that dropped it.")
        return
    metadata = sections[label].metadata
    try:
        why = why_answered(
            turn.answer,
            hybrid_search=process.athena().hybrid_search,
            options=options_of(turn.answer),
            source=metadata["source"],
            heading=" > ".join(map(str, metadata.get("heading_path") or [])),
        )
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    st.markdown(f"**{_verdict(why)}**")
    st.text(why.explanation)
    if rows := _why_rows(why):
        st.dataframe(rows, hide_index=True, width="content")


def _verdict(why: Why) -> str:
    if why.dropped_by == "not indexed":
        return "Not indexed"
    return (
        f"Dropped by: {flow.LABELS.get(why.dropped_by, why.dropped_by)}"
        if why.dropped_by
        else "It was selected"
    )


def _why_rows(why: Why) -> list[dict[str, Any]]:
    """The lists that have it; whether it was selected, and in which place, is said above them."""
    return [
        {"List": flow.LISTS.get(name, name.capitalize()), "Rank": place.rank, "Score": place.score}
        for name, place in why.places.items()
        if place.rank is not None
    ]


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
    _recalled(last_step(answer.steps, "recall"))
    _kept(last_step(answer.steps, "remember"))


def _recalled(step: Step | None) -> None:
    data = step.data if step else {}
    scored = {"memory": data.get("recalled", ()), "said": data.get("turns", ())}
    static, graph = data.get("static", ()), data.get("graph", ())
    ids = [*static, *graph, *(item["memory_id"] for found in scored.values() for item in found)]
    if not ids:
        st.caption(plain(f"Nothing was recalled{f': {step.detail}' if step and step.detail else ''}."))
        return
    said = _said(ids)
    rows: list[dict[str, Any]] = [{"Recalled": said[known], "As": "persona"} for known in static]
    rows += [{"Recalled": said[known], "As": "graph"} for known in graph]
    rows += [
        {
            "Recalled": said[item["memory_id"]],
            "As": name,
            "Score": round(item["score"], 3),
            "Relevance": round(item["relevance"], 3),
            "Recency": round(item["recency"], 3),
            "Importance": item["importance"],
        }
        for name, found in scored.items()
        for item in found
    ]
    st.caption(
        f"{counted(data['considered'], 'candidate')}; relevance of at least {data['threshold']:.2f} "
        "was needed. None of it is evidence."
    )
    st.dataframe(rows, hide_index=True)


def _kept(step: Step | None) -> None:
    if step is None:
        return
    found = [(known, words) for name, words in KEPT.items() for known in step.data.get(name, ())]
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
