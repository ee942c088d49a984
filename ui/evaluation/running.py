"""What is evaluated in the background: one run at a time, which goes on whatever page is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import streamlit as st

from ui.shared import messages
from ui.shared.jobs import Jobs, JobState, job_box
from ui.shared.words import plain

if TYPE_CHECKING:
    from evals.judges import JudgeReport
    from evals.trials import Trial

BUSY = "An evaluation is still running. Wait for it, or cancel it first."


class Cancelled(Exception):
    """Somebody cancelled the run."""


class Bar(NamedTuple):
    """How far one part of a run is."""

    stage: str
    done: int
    total: int
    document: str = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run, in a line, and what the page shows of it later.

    `trial` is how each case went with other settings, `rules` what a test of the rules as a judge came to.
    """

    said: str
    trial: Trial | None = None
    rules: JudgeReport | None = None


class Work(Protocol):
    """A run, as a thread does it."""

    def __call__(self, *, on_progress: Callable[[Bar], None], should_stop: Callable[[], bool]) -> Ran:
        """What came of it; raises `AthenaError`."""


class Evaluations(Jobs[Ran]):
    """The runs of this process, and the last trial and test among them."""

    trial: Trial | None = None
    rules: JudgeReport | None = None

    def _ended(self, report: Ran) -> None:
        self.trial = report.trial or self.trial
        self.rules = report.rules or self.rules


@st.cache_resource(show_spinner=False)
def evaluations() -> Evaluations:
    """The evaluation of this process."""
    return Evaluations()


def start(title: str, work: Work) -> None:
    """Start a run, unless another is at work: for the callback of a widget."""
    if not evaluations().start(title, work):
        st.toast(BUSY)


@messages.shown
def progress(busy: bool) -> None:
    """Draw the run at work, or the result of the last one; `busy` is what the page was drawn for."""
    job_box(
        evaluations(), busy=busy, stages={}, stopping="Stopping after this question …", finished=_finished
    )


def _finished(now: JobState[Ran]) -> None:
    if now.report:
        st.markdown(f"**{plain(now.title)}**")
        st.text(now.report.said)
