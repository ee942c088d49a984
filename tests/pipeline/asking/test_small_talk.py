"""Greetings and thanks get a fixed reply, and nothing else does."""

from __future__ import annotations

import pytest

from pipeline.asking.questions import GREETINGS, THANKS, small_talk
from tests.pipeline.chat_runs import PERSONA, NewChat


def test_there_are_at_most_25_phrases() -> None:
    assert len(GREETINGS | THANKS) <= 25


@pytest.mark.parametrize("message", ["Hello!", "  good   evening. ", "Vielen Dank", "OK, thanks!"])
def test_a_greeting_or_thanks_alone_gets_a_reply(message: str) -> None:
    assert small_talk(message)


@pytest.mark.parametrize(
    "message", ["", "?", "help", "What can you do?", "ok", "hello, is there a fan?", "thanks for what?"]
)
def test_everything_else_is_searched(message: str) -> None:
    assert small_talk(message) == ""


def test_a_chat_replies_without_searching(new_chat: NewChat) -> None:
    chat = new_chat()
    answer = chat.answer("Hello!")
    assert (answer.mode, answer.verdict, answer.abstained) == ("reply", "answered", False)
    assert (answer.steps, answer.citations, answer.model, answer.notices) == ((), (), "", ())
    assert answer.text == f"Hello. {PERSONA.greeting}"
    assert [turn.answer.mode for turn in chat.turns] == ["reply"]
    assert chat.recipe.history == []
