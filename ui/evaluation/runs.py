"""Runs: start one, and see how the scores went from run to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.words import counted
from ui.evaluation import charts
from ui.evaluation.found import KEPT_ONES, NONE, finished_at, found_results, stale
from ui.evaluation.running import Bar, Cancelled, Ran, start
from ui.evaluation.scores import in_words, metric_choice
from ui.shared import messages, process
from ui.shared.words import plain

if TYPE_CHECKING:
    from evals.results import ExperimentResult

CURRENT = "as they are now"
ONE_RUN = "One run so far: a second one, with other code, data or settings, is drawn beside it."


def runs(*, busy: bool) -> None:
    """Draw what starts a run, a plot of the scores over time, and the runs."""
    _starting(busy=busy)
    found = found_results()
    if not found.runs:
        st.markdown(NONE)
        return
    if not found.own:
        st.caption(KEPT_ONES)
    st.subheader("Over time", anchor=False)
    names = sorted({run.experiment for run in found.runs})
    left, right = st.columns(2)
    name = left.selectbox("Experiment", names, key="over-time", format_func=partial(_titled, found.runs))
    shown = [run for run in found.runs if run.experiment == name]
    if len(shown) > 1:
        with right:
            metric = metric_choice(shown[0].baseline, key="over-time-metric")
        _over_time(shown, metric)
    else:
        st.caption(ONE_RUN)
    st.dataframe([_row(run) for run in found.runs], hide_index=True)


def _over_time(shown: Sequence[ExperimentResult], metric: str) -> None:
    points = [
        {"name": one.name, "time": run.finished, "value": one.metrics[metric]}
        for run in shown
        for one in run.configurations
        if metric in one.metrics
    ]
    charts.lines(points, value=in_words(metric), key="over-time-plot")


def _titled(all_runs: Sequence[ExperimentResult], name: str) -> str:
    return f"{name}: {next(run.title for run in all_runs if run.experiment == name)}"


def _row(run: ExperimentResult) -> dict[str, object]:
    return {
        "Finished": finished_at(run),
        "Experiment": f"{run.experiment}: {run.title}",
        "Code and data": stale(run) or CURRENT,
        "Configurations": len(run.configurations),
        "Questions": len(run.baseline.questions),
        "Data": run.dataset,
        "Code": run.code,
    }


def _starting(*, busy: bool) -> None:
    from evals.experiments import load_experiment, names

    with st.container(border=True, key="starting"):
        st.markdown("**Run an experiment**")
        known = {name: load_experiment(name).title for name in names()}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.selectbox("Experiment", list(known), key="experiment", disabled=busy,
                                format_func=lambda name: f"{name}: {known[name]}")  # fmt: skip
            st.button("Run it", type="primary", key="run", icon=":material/play_arrow:", disabled=busy,
                      on_click=_start, args=(name,))  # fmt: skip
        st.caption(_plan(name))


@st.cache_data(show_spinner=False, ttl=5)
def _plan(name: str) -> str:
    """What would run, and how long that took last."""
    from evals.experiments import last_seconds, plan_all, result_path
    from evals.results import RESULTS

    plans = plan_all([name], data_dir=process.settings().data_dir)
    kept = [one for one in plans if result_path(one, RESULTS).is_file()]
    skipped = [one for one in plans if one not in kept and one.skip]
    running = [one for one in plans if one not in kept and not one.skip]
    said = f"{counted(len(running), 'configuration')} to run"
    said += f", {len(kept)} finished before" if kept else ""
    said += f", {len(skipped)} that cannot run: {skipped[0].skip}" if skipped else ""
    took = [seconds for one in running if (seconds := last_seconds(one, RESULTS)) is not None]
    last = f" They took {sum(took):.0f} s when they last ran." if took else ""
    return plain(f"{said}.{last} It goes on where it stopped, and no language model is asked.")


@messages.noticed
def _start(name: str) -> None:
    start(f"Experiment {name}", partial(_run, name, process.settings().data_dir))


def _run(
    name: str, data_dir: Path, *, on_progress: Callable[[Bar], None], should_stop: Callable[[], bool]
) -> Ran:
    """Run an experiment; one that is cancelled keeps the configurations that it finished."""
    from evals.experiments import plan_all, run
    from evals.results import RESULTS

    def report(stage: str, done: int, total: int) -> None:
        if should_stop():
            raise Cancelled
        on_progress(Bar(stage, done, total))

    plans = plan_all([name], data_dir=data_dir)
    outcomes = []
    try:
        for outcome in run(plans, results=RESULTS, report=report):
            outcomes.append(outcome)
            report("Configurations:", len(outcomes), len(plans))
    except Cancelled:
        left = counted(len(plans) - len(outcomes), "configuration")
        return Ran(f"Cancelled: {left} left. What was finished is kept; run it again to go on.")
    counts = Counter(one.status for one in outcomes)
    said = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    why = "".join(f" {one.planned.named.name}: {one.why}" for one in outcomes if one.why)
    return Ran(f"{counted(len(outcomes), 'configuration')}: {said}.{why}")
