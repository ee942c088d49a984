"""The dialog that is open: it outlives the runs of its page, is closed by its end, and stays on its page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

PAGE = """
import streamlit as st
from ui.shared import dialogs, messages

def sure():
    st.text("Sure?")
    if st.button("Yes", key="yes"):
        dialogs.end_dialog()

dialogs.come_to(st.session_state.get("page", "documents"))
st.button("Delete", key="delete", on_click=dialogs.open_dialog, args=("Delete it?", sure))
dialogs.show_dialog(messages.shown)
"""


@pytest.fixture
def asked() -> AppTest:
    """A page on which the button was clicked that opens a dialog."""
    app = AppTest.from_string(PAGE).run()
    assert not app.text
    return app.button(key="delete").click().run()


def test_a_run_of_the_page_that_knows_of_no_click_leaves_it_open(asked: AppTest) -> None:
    assert [text.value for text in asked.text] == ["Sure?"]
    assert [text.value for text in asked.run().text] == ["Sure?"]


def test_its_end_closes_it(asked: AppTest) -> None:
    assert not asked.button(key="yes").click().run().text
    assert not asked.run().text


def test_another_page_does_not_show_it_and_coming_back_neither(asked: AppTest) -> None:
    for page in ("chat", "documents"):
        asked.session_state["page"] = page
        assert not asked.run().text
