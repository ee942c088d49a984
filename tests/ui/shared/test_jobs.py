"""What a page waits for."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

CLICKED = """
import threading
import streamlit as st
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from ui.shared.jobs import awaited

if "clicked" not in st.session_state:
    st.session_state["clicked"] = True
    get_script_run_ctx().script_requests.request_rerun(RerunData())
    awaited(threading.Event().wait, said="Asking …")
st.session_state["drawn"] = True
"""
ENDED = """
import streamlit as st
from ui.shared.jobs import awaited

def fails():
    raise ValueError("no")

st.session_state["found"] = awaited(lambda: 7, said="Asking …")
try:
    awaited(fails, said="Asking …")
except ValueError as error:
    st.session_state["error"] = str(error)
"""


def test_the_next_click_leaves_what_is_waited_for() -> None:
    app = AppTest.from_string(CLICKED, default_timeout=30).run()
    assert app.session_state["drawn"]


def test_what_it_comes_to_is_given_and_what_it_fails_of_is_raised() -> None:
    app = AppTest.from_string(ENDED, default_timeout=30).run()
    assert (app.session_state["found"], app.session_state["error"]) == (7, "no")
