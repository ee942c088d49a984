"""Title and navigation follow the persona and the corpus."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from athena import Athena
from athena.settings import Settings
from pipeline.answering.persona import Persona
from tests.ui.conftest import use
from ui.shared import process

PAGES = "Chat, Documents, Memory, Settings, Mission, Inspector"
TITLES = """
import streamlit as st
from ui import app
st.text(", ".join(page.title for page in app.offered_pages().values()))
"""


def test_a_persona_that_cannot_be_read_leaves_the_usual_name(tmp_path: Path) -> None:
    process.use_settings(Settings(persona=tmp_path / "missing.toml"))
    assert process.name_of_assistant() == Persona().name


def test_another_corpus_has_no_mission_in_its_navigation(empty_athena: Athena, tmp_path: Path) -> None:
    use(empty_athena)
    assert AppTest.from_string(TITLES).run().text[0].value == PAGES
    process.use_settings(Settings(corpus=tmp_path))
    assert AppTest.from_string(TITLES).run().text[0].value == PAGES.replace("Mission, ", "")


def test_an_index_of_other_documents_has_no_mission_either(athena: Athena) -> None:
    use(athena)
    assert "Mission" not in AppTest.from_string(TITLES).run().text[0].value
