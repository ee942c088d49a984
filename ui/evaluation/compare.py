"""Configurations of an experiment side by side: intervals, verdicts, cost, and their worst questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.words import counted
from ui.evaluation import charts
from ui.evaluation.found import KEPT_ONES, NONE, finished_at, found_results, questions_of, stale
from ui.evaluation.inspecting import inspect_button
from ui.evaluation.scores import in_words, metric_choice
from ui.shared.state import kept
from ui.shared.words import one_line, plain

if TYPE_CHECKING:
    from evals.results import Configuration, ExperimentResult

ALONE = "not compared"
SIGNS = {"better": "▲", "worse": "▼", "noise": "●", ALONE: ""}
SHAPES = {
    "better": "triangle-up",
    "worse": "triangle-down",
    "noise": "circle",
    "baseline": "square",
    ALONE: "circle",
}
WORST = 8
"""Questions that are listed at first, and once more each time that more are asked for."""


@dataclass(slots=True)
class Worst:
    """How much of the worst questions this session has asked for."""

    pages: int = 1


def compare() -> None:
    """Draw the configurations of a run with their intervals and verdicts, and what they find worst."""
    found = found_results()
    if not found.runs:
        st.markdown(NONE)
        return
    if not found.own:
        st.caption(KEPT_ONES)
    left, right = st.columns(2)
    numbers = range(len(found.runs))
    number = left.selectbox("Run", numbers, key="compared", format_func=lambda n: _title(found.runs[n]))
    run = found.runs[number]
    with right:
        metric = metric_choice(run.baseline, key=f"compared-{run.experiment}")
    if other := stale(run):
        told = f"This run was made with {other} than now: run the experiment again to compare with it."
        if found.own:
            st.warning(told, icon=":material/history:")
        else:
            st.caption(told)
    charts.dots(
        [_dot(run, one, metric) for one in run.configurations], value=in_words(metric), key="compared-plot"
    )
    st.caption(
        run.uncompared
        or f"▲ better and ▼ worse than ■ {plain(run.baseline.name)}; ● no more than noise. Lines are 95 % "
        "intervals; verdicts are those of a paired bootstrap over the questions, with Holm's correction."
    )
    _power(run, metric)
    st.dataframe([_row(run, one) for one in run.configurations], hide_index=True)
    _comparisons(run)
    _worst(run, metric)


def _title(run: ExperimentResult) -> str:
    return f"{run.experiment}: {run.title}, {finished_at(run)}"


def _word(run: ExperimentResult, one: Configuration, metric: str) -> str:
    """The verdict on a configuration."""
    if run.uncompared:
        return ALONE
    if one.name == run.baseline.name:
        return "baseline"
    verdicts = [made.verdict for made in run.comparisons if (made.a, made.metric) == (one.name, metric)]
    return verdicts[0] if verdicts else "noise"


def _dot(run: ExperimentResult, one: Configuration, metric: str) -> dict[str, Any]:
    word = _word(run, one, metric)
    low, high = one.intervals.get(metric, (None, None))
    return {"name": one.name, "value": one.metrics.get(metric), "low": low, "high": high,
            "shape": SHAPES[word], "word": word}  # fmt: skip


def _power(run: ExperimentResult, metric: str) -> None:
    """Say where the questions are too few to see a difference of 3 in 100."""
    if few := [made for made in run.comparisons if made.metric == metric and made.too_few]:
        needed = max(made.needed for made in few)
        st.caption(f"{few[0].questions} questions are too few to see a difference of 0.03 here: "
                   f"{needed:,} would show it.")  # fmt: skip


def _row(run: ExperimentResult, one: Configuration) -> dict[str, Any]:
    scores = {
        in_words(metric): f"{value:.3f} {SIGNS.get(_word(run, one, metric), '■')}"
        for metric, value in one.metrics.items()
    }
    ms = one.ms.get("all", {})
    return {
        "Configuration": one.name,
        **scores,
        **{f"{share}, ms": f"{ms[share]:.0f}" for share in ("p50", "p95") if share in ms},
        "Tokens in": f"{'~' if one.tokens_estimated else ''}{one.tokens_in or 0:,}",
        "Tokens out": "none" if one.tokens_out is None else f"{one.tokens_out:,}",
        "Cost": "no price set" if one.cost is None else f"{one.cost:.4f}",
    }


def _comparisons(run: ExperimentResult) -> None:
    with st.expander("Every comparison"):
        st.dataframe(
            [
                {
                    "Configuration": made.a,
                    "Compared with": made.b,
                    "Score": in_words(made.metric),
                    "Difference": f"{made.difference:+.3f}",
                    "95 % interval": f"{made.interval[0]:+.3f} to {made.interval[1]:+.3f}",
                    "p": f"{made.p:.4f}",
                    "Verdict": f"{SIGNS[made.verdict]} {made.verdict}",
                }
                for made in run.comparisons
            ],
            hide_index=True,
        )


def _worst(run: ExperimentResult, metric: str) -> None:
    """Draw the questions that a configuration scores lowest on, each with its way into the inspector."""
    st.subheader("The worst questions first", anchor=False)
    known = {one.name: one for one in run.configurations if metric in one.scores}
    name = st.selectbox("Configuration", list(known), key=f"worst-{run.experiment}")
    one = known[name]
    scored = zip(one.scores[metric], one.questions, strict=True)
    ordered = sorted((score, question) for score, question in scored if score is not None)
    texts = questions_of(run.experiment)
    shown = kept(Worst).pages * WORST
    for score, question in ordered[:shown]:
        with st.container(horizontal=True, vertical_alignment="center", wrap=False, key=f"worst-{question}"):
            st.markdown(f"**{score:.2f}**", width="content")
            asked = texts.get(question)
            st.markdown(plain(one_line(asked.text if asked else question)), width="stretch")
            if asked and asked.alone:
                inspect_button(asked.text, key=f"inspect-{question}", history=asked.history)
    if len(ordered) > shown:
        st.button(f"Show more of {counted(len(ordered), 'question')}", key="more-worst", on_click=_more)


def _more() -> None:
    kept(Worst).pages += 1
