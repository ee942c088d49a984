"""Questions that meet an answer which is being written: asked in order, and none is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.errors import StoreError
from tests.ui.conftest import answered, texts
from tests.ui.conversation.scripted import SECONDS, ScriptedEngine
from ui.conversation import talk, whose
from ui.conversation.asking import Waiting
from ui.conversation.runner import runner
from ui.shared import messages, state

Run = Callable[..., AppTest]


def begun(athena: Athena) -> str:
    """A conversation with one turn; its id."""
    conversation = athena.conversations.create("Valves").info.id
    athena.conversations.save_turn(conversation, answered())
    return conversation


def test_a_question_from_a_window_drawn_before_another_one_asked_waits(athena: Athena, run_app: Run) -> None:
    conversation, gate = begun(athena), threading.Event()
    app = run_app(athena, c=conversation)
    first = runner().ask(ScriptedEngine([gate]), conversation_id=conversation, question="From elsewhere?")
    assert first
    app.chat_input[0].set_value("Why is it OFFLINE?").run()
    assert "Next: Why is it OFFLINE?" in texts(app)
    app.chat_input[0].set_value("How long does the crew sleep?").run()
    assert "Then: How long does the crew sleep?" in texts(app)
    gate.set()
    assert first.wait(SECONDS)
    for _ in range(3):  # the page is drawn as the answers end
        app.run()
        run = runner().of(conversation)
        assert run
        assert run.wait(SECONDS)
    app.run()
    assert not app.exception
    asked = [turn.question for turn in athena.conversations.get(conversation).turns]
    assert asked[1:] == ["Why is it OFFLINE?", "How long does the crew sleep?"]
    assert app.session_state[Waiting.__name__].questions == []


def test_a_first_question_is_asked_though_the_next_click_breaks_its_callback_off(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streamlit does so where a callback sends something to the browser, as a new address is."""
    opened = state.open_conversation

    def broken_off(conversation: str) -> None:
        opened(conversation)
        raise RerunException(RerunData())

    app = run_app(athena)
    monkeypatch.setattr(state, "open_conversation", broken_off)
    app.chat_input[0].set_value("Why is it OFFLINE?").run()
    (info,) = athena.conversations.list()
    run = runner().of(info.id)
    assert run
    assert run.wait(SECONDS)
    assert [turn.question for turn in athena.conversations.get(info.id).turns] == ["Why is it OFFLINE?"]


CALLBACK = """
import streamlit as st
from pipeline.errors import StoreError
from ui.shared import messages

def fail():
    raise StoreError("The store is busy", "Try again")

messages.show_notice()
st.button("Rate", key="rate", on_click=messages.noticed(fail))
st.fragment(messages.shown(fail))()
"""


def test_an_expected_error_of_a_callback_or_a_fragment_is_shown_with_what_to_do() -> None:
    app = AppTest.from_string(CALLBACK).run()
    assert (app.error[0].value, app.markdown[0].value) == ("The store is busy", "Try again")
    app.button(key="rate").click().run()
    assert app.warning[0].value == "The store is busy Try again"
    assert not app.exception


def fail(*_: Any, **__: Any) -> Any:
    raise StoreError("The store is busy", "Try again")


@pytest.mark.parametrize(
    ("name", "sent", "broken"),
    [
        ("_rate", {"turn": "t", "value": 1, "word": ""}, "set_feedback"),
        ("_choose", {"version": "t"}, "get"),
    ],
)
def test_a_store_that_fails_under_a_turn_is_reported_and_nothing_is_half_made(
    athena: Athena, monkeypatch: pytest.MonkeyPatch, name: str, sent: dict[str, Any], broken: str
) -> None:
    conversation, told = begun(athena), list[str]()
    athena.conversations.save_turn(conversation, answered("And then?"))
    monkeypatch.setattr(talk, "sent", lambda *_: sent)
    monkeypatch.setattr(whose.process, "athena", lambda: athena)
    monkeypatch.setattr(messages, "notify", told.append)
    with monkeypatch.context() as failing:
        failing.setattr(type(athena.conversations), broken, fail)
        arguments = ("k", conversation) if name == "_rate" else ("k", conversation, 1)
        getattr(talk, name)(*arguments)
    assert told == ["The store is busy Try again"]
    assert [info.id for info in athena.conversations.list()] == [conversation]
