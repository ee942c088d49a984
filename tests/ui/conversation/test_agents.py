"""The agent beside the question: which call is allowed, and which tools can be added from the page."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agent import function_tool
from athena import open_athena
from athena.settings import Settings
from pipeline.errors import ConfigurationError
from ui.conversation import agents
from ui.conversation.agents import ADDED, Waiting, answer_consent, consent_view, open_modules
from ui.shared import process
from ui.shared.process import GivenAthena


def order(part: str) -> str:
    """Order a part."""
    return part


def test_a_word_is_for_the_call_that_was_shown() -> None:
    waiting, tool = agents._waiting(), function_tool(order)
    waiting["c"] = before = Waiting(tool, {"part": "fan"})
    shown = consent_view("c")
    assert shown and shown["given"] == '{"part": "fan"}'
    answer_consent("c", shown["id"], allow=True)
    assert before.done.is_set() and before.allowed
    waiting["c"] = Waiting(tool, {"part": "fan\u202e\n"})  # it turns what follows round
    shown_again = consent_view("c")
    assert shown_again and shown_again["given"] == '{"part": "fan\ufffd\\n"}'
    waiting["c"] = other = Waiting(tool, {"part": "ship"})
    answer_consent("c", shown["id"], allow=True)  # the button was pressed twice
    assert not other.done.is_set() and consent_view("c")
    waiting.clear()


def test_a_call_that_nobody_answers_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "LONGEST_WAIT_S", 0.0)
    asked = Waiting(function_tool(order), {"part": "fan"})
    waiting = {"c": asked}
    assert not agents._word_on(asked, waiting, "c", threading.Event()) and not waiting


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ({"tools": "posixpath:basename=reads, shop:order"}, {"posixpath", "shop"}),
        ({"tools": ""}, set()),
        ({"tools": "shop:order", "host": "0.0.0.0"}, set()),
        ({"tools": "shop:order", "user_header": "X-User"}, set()),
    ],
)
def test_from_the_page_only_modules_of_the_setting_are_open(
    given: dict[str, str], known: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "settings", lambda: Settings(**given))  # type: ignore[arg-type]
    assert open_modules() == known


def test_no_program_is_added_from_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "settings", lambda: Settings(tools="posixpath:basename=reads"))
    monkeypatch.setattr(
        agents, "entered", {ADDED: "posixpath:dirname, subprocess:getoutput=reads"}.__getitem__
    )
    with pytest.raises(ConfigurationError, match="no module that ATHENA_TOOLS names"):
        agents._add.__wrapped__()  # type: ignore[attr-defined]


def test_tools_that_cannot_be_had_are_told_beside_the_switch(tmp_path: Path) -> None:
    given = Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none", tools="nowhere:f")
    with open_athena(given) as athena:
        app = AppTest.from_string(
            "from ui.conversation.agents import _tools\n_tools('', working=False)", default_timeout=30
        )
        app.session_state[GivenAthena.__name__] = GivenAthena(athena)
        app.run()
    assert not app.exception and "nowhere" in app.error[0].value
