"""Title and navigation follow the persona and the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from athena import Athena
from athena.settings import Settings
from pipeline.answering.persona import Persona
from ui.shared import brand, process
from ui.shared.process import GivenAthena


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Settings]]:
    """What the app is served with; what the process caches is forgotten before and after."""
    held: list[Settings] = []
    monkeypatch.setattr(process, "_served_with", held)
    st.cache_resource.clear()
    yield held
    st.cache_resource.clear()


def test_a_persona_that_cannot_be_read_leaves_the_usual_name(served: list[Settings], tmp_path: Path) -> None:
    served[:] = [Settings(persona=tmp_path / "missing.toml")]
    assert brand.name() == Persona().name


TITLES = """
import streamlit as st
from ui import app
st.text(", ".join(page.title for page in app.offered_pages().values()))
"""


def test_another_corpus_has_no_mission_in_its_navigation(served: list[Settings], tmp_path: Path) -> None:
    served[:] = [Settings(data_dir=tmp_path / "data")]
    pages = "Chat, Documents, Memory, Settings, Mission, Inspector"
    assert AppTest.from_string(TITLES).run().text[0].value == pages
    served[:] = [Settings(corpus=tmp_path)]
    assert AppTest.from_string(TITLES).run().text[0].value == pages.replace("Mission, ", "")


def test_an_index_of_other_documents_has_no_mission_either(athena: Athena) -> None:
    app = AppTest.from_string(TITLES)
    app.session_state[GivenAthena.__name__] = GivenAthena(athena)
    assert "Mission" not in app.run().text[0].value
