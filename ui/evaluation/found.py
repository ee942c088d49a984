"""The results that the page shows: those of this installation, else those that came along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import ConfigurationError
from pipeline.messages import Message
from ui.shared import process
from ui.shared.words import local_time

if TYPE_CHECKING:
    from evals.results import ExperimentResult

KEPT_ONES = "Nothing was run here yet: these are the results that came with Athena."
NONE = "Nothing was run yet. Start an experiment under *Runs*, or in a terminal: `athena eval experiment A`."
MADE_ANEW = 60  # seconds until it is looked again whether code or data changed


@dataclass(frozen=True, slots=True)
class Found:
    """The runs, the latest first, and whether they are this installation's own."""

    runs: Sequence[ExperimentResult]
    own: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a data set; one of a talk cannot be asked alone."""

    text: str
    history: Sequence[Message] = ()
    alone: bool = True


def found_results() -> Found:
    """The results of this installation, or those that came along; raises `DatasetError` for a damaged one."""
    from evals.results import KEPT, RESULTS

    for folder in (RESULTS, KEPT):
        files = tuple((str(path), path.stat().st_mtime_ns) for path in sorted(folder.glob("*/*.json")))
        if files:
            return Found(_loaded(folder, files), own=folder.resolve() != KEPT.resolve())
    return Found((), own=True)


@st.cache_resource(show_spinner="Comparing …", max_entries=2)
def _loaded(folder: Path, files: tuple[tuple[str, int], ...]) -> Sequence[ExperimentResult]:  # noqa: ARG001
    """What a folder has while its files are these; with an underscore they would not tell it from others."""
    from evals.results import load_results

    return load_results(folder, cost=getattr(process.settings(), "cost", None))


def finished_at(run: ExperimentResult) -> str:
    """When a run was finished, on this machine's clock; "" where no file says so."""
    return local_time(datetime.fromisoformat(run.finished).timestamp()) if run.finished else ""


def stale(run: ExperimentResult) -> str:
    """What a run was made with that is another now, in words; "" where it is as it would be today."""
    code, data = _now(run.experiment)
    others = [
        name for name, was, now in (("code", run.code, code), ("data", run.data, data)) if now and was != now
    ]
    return f"other {' and '.join(others)}" if others else ""


@st.cache_data(show_spinner=False, ttl=MADE_ANEW)
def _now(experiment: str) -> tuple[str, str]:
    """The code, and the data of an experiment, as they are now; "" for the data of one that is not ours."""
    from evals.experiments import code_version, load_experiment

    try:
        return code_version(), load_experiment(experiment).data
    except ConfigurationError:
        return code_version(), ""


@st.cache_data(show_spinner=False, ttl=MADE_ANEW)
def questions_of(experiment: str) -> Mapping[str, Asked]:
    """The questions of an experiment by their ids; none of one that is not ours. Raises `DatasetError`."""
    from evals.datasets import load_queries
    from evals.experiments import load_experiment
    from evals.talks import load_talks

    try:
        folder = load_experiment(experiment).folder
    except ConfigurationError:
        return {}
    if talks := load_talks(folder):
        steps = [(f"{talk.name} {step.at}", step.ask) for talk in talks for step in talk.steps if step.ask]
        return {known: Asked(text, alone=False) for known, text in steps}
    return {
        query.id: Asked(query.text, tuple(Message(turn.role, turn.text) for turn in query.history))
        for query in load_queries(folder)
    }
