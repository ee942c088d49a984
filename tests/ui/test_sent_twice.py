"""A browser may send a click twice before the page is drawn anew: what was clicked is done once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from athena import Athena
from athena.missions import mission_folder
from mission.game import Game
from mission.games import Games
from tests.ui.conftest import answered
from ui.conversation import talk
from ui.conversation.runner import Run, runner

RunApp = Callable[..., AppTest]
QUESTION = "Why is it OFFLINE?"


@pytest.fixture(autouse=True)
def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each callback runs twice, with what it was drawn with."""
    once = WStates.call_callback

    def call(states: WStates, widget: str) -> None:
        once(states, widget)
        once(states, widget)

    monkeypatch.setattr(WStates, "call_callback", call)


def test_more_is_listed_by_one_page(athena: Athena, run_app: RunApp, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ui.chat.sidebar.PAGE", "ui.memory.page.PAGE"):
        monkeypatch.setattr(name, 1)
    for number in range(4):
        athena.conversations.create(f"Number {number}")
        athena.memory.add(f"Room {number} of the old station has a piano.")
    app = run_app(athena)
    next(button for button in app.button if button.label == "Older conversations").click().run()
    assert len([button for button in app.button if (button.key or "").startswith("open-")]) == 2
    app = run_app(athena, page="memory")
    app.button(key="memory-more").click().run()
    assert app.session_state["ShownMemories"].pages == 2


def test_a_suggestion_is_asked_once(athena: Athena, run_app: RunApp) -> None:
    app = run_app(athena)
    app.button[[button.key.startswith("ask-") for button in app.button].index(True)].click().run()
    assert not app.session_state["Waiting"].questions
    (info,) = athena.conversations.list()
    run = runner().of(info.id)
    assert run is not None and run.wait(60)
    assert len(athena.conversations.get(info.id).turns) == 1


def test_a_hint_is_given_once(athena: Athena, run_app: RunApp) -> None:
    games, game = Games(mission_folder(athena.settings)), Game.start("ln2-tank")
    for line in ("power on ECS-LN2-T1", "wait 1"):
        game.run(line)
    games.save(game)
    app = run_app(athena, page="mission", level="ln2-tank")
    app.button(key="mission-hint").click().run()
    assert not app.exception
    found = games.load("ln2-tank")
    assert found is not None
    assert len(found.hints_given) == 1


def test_a_name_is_switched_to_once(athena: Athena, run_app: RunApp) -> None:
    app = run_app(athena)
    app.text_input(key="another-user-local").set_value("Ann")
    as_drawn = app._tree.get_widget_states()
    app.run()
    conversation = athena.conversations.create(user="Ann").info.id
    athena.conversations.save_turn(conversation, answered())
    app.session_state["SharedState"].conversation = conversation  # begun by what was asked at once
    app._run(as_drawn)
    assert app.session_state["SharedState"].conversation == conversation


SENT = """
import streamlit as st
from ui.shared.state import sent

st.session_state["turn"] = {"ask": {"question": "Why?", "at": 7}}
st.session_state["first"], st.session_state["again"] = sent("turn", "ask"), sent("turn", "ask")
st.session_state["turn"] = {"ask": {"question": "Why?", "at": 8}}
st.session_state["later"] = sent("turn", "ask")
"""


def test_a_click_in_a_component_is_taken_once() -> None:
    app = AppTest.from_string(SENT).run()
    assert app.session_state["first"]["question"] == app.session_state["later"]["question"] == "Why?"
    assert app.session_state["again"] == {}


def test_the_answer_that_was_drawn_is_stopped_and_not_the_next() -> None:
    drawn, following = Run(QUESTION), Run(QUESTION)
    talk._stop(drawn)
    assert (drawn.stop.is_set(), following.stop.is_set()) == (True, False)


def test_a_question_at_once_is_for_the_model_that_was_just_chosen(
    athena: Athena, run_app: RunApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    chat = athena.chat

    def noted(**given: object) -> object:
        asked.append(given["llm"])  # type: ignore[arg-type]
        return chat(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(athena, "chat", noted)
    app = run_app(athena)
    app.selectbox(key="language-model").set_value("none")
    app.chat_input[0].set_value(QUESTION).run()
    assert asked[0] == "none"
