"""Evaluation: runs, configurations side by side, cases, usage, benchmarks, and what judges are worth."""

from __future__ import annotations

import streamlit as st

from ui.conversation import whose
from ui.evaluation.benchmarks import benchmarks
from ui.evaluation.cases import cases
from ui.evaluation.compare import compare
from ui.evaluation.judges import judges
from ui.evaluation.running import evaluations, progress
from ui.evaluation.runs import runs
from ui.evaluation.usage import usage
from ui.shared import messages, style
from ui.shared.jobs import LOOK_EVERY
from ui.shared.state import begin_with

VIEWS = ("Runs", "Compare", "Cases", "Usage", "Benchmarks", "Judges")
SHOWN, ADDRESS = "evaluation-shown", "view"


def page() -> None:
    """Draw the page."""
    style.apply()
    whose.show_in_address()
    with st.sidebar:
        whose.user_switch()
    with st.container(key="page"):
        st.header("Evaluation", anchor=False)
        messages.show_notice()
        view = _view()
        busy = evaluations().working
        with st.container(key="progress"):  # always there: nothing below it moves
            st.fragment(progress, run_every=LOOK_EVERY if busy else None)(busy)
        with st.container(key="evaluation"):
            match view:
                case "Runs":
                    runs(busy=busy)
                case "Compare":
                    compare()
                case "Cases":
                    cases(busy=busy)
                case "Usage":
                    usage()
                case "Judges":
                    judges(busy=busy)
                case _:
                    benchmarks()


def _view() -> str:
    """Which part is shown: chosen above it, and kept in the address, so that a reload finds it again."""
    named = st.query_params.get(ADDRESS, "")
    begin_with(SHOWN, named if named in VIEWS else VIEWS[0])
    view = str(st.segmented_control("Show", VIEWS, required=True, key=SHOWN, label_visibility="collapsed"))
    st.query_params[ADDRESS] = view
    return view
