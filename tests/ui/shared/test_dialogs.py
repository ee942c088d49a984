"""The dialog that is open: it outlives the runs of its page, is closed by its end, and stays on its page."""

from __future__ import annotations

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


def test_a_dialog_stays_until_its_end_or_another_page() -> None:
    app = AppTest.from_string(PAGE).run()
    assert not app.text
    asked = app.button(key="delete").click().run()
    for _ in range(2):  # a run of the page that knows of no click leaves it open
        assert [text.value for text in asked.text] == ["Sure?"]
        asked.run()
    assert not asked.button(key="yes").click().run().text
    asked.button(key="delete").click().run()
    for page in ("chat", "documents"):
        asked.session_state["page"] = page
        assert not asked.run().text


def test_a_message_over_the_page_names_no_variable() -> None:
    app = AppTest.from_string('from ui.shared import messages; messages.notify("Set ATHENA_LLM.")').run()
    assert app.toast[0].value == "Set “Language model”\\."
