"""One call turns a message and its history into queries."""

from __future__ import annotations

import threading

import pytest

from pipeline.answer import Message
from pipeline.asking.rewriting import LAST_MESSAGES, rewrite, rewrite_prompt
from pipeline.errors import ModelError
from pipeline.llamaindex.llms import GivenModel
from tests.fake_llm import FakeLLM

HISTORY = [Message("user", "How do I replace the fan?"), Message("assistant", "Open the panel {x}.")]


def rewritten(reply: str) -> list[str]:
    llm = GivenModel(FakeLLM([reply]))
    return rewrite(
        llm, HISTORY, "and how often?", languages=["en"], hyde=False, stop=threading.Event()
    ).queries


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        (
            '{"queries": ["How often is the fan replaced?"], "hypothesis": ""}',
            ["How often is the fan replaced?"],
        ),
        ('Sure!\n```json\n{"queries": [" a ", "b"]}\n```', ["a", "b"]),
    ],
)
def test_queries_are_read(reply: str, queries: list[str]) -> None:
    assert rewritten(reply) == queries


@pytest.mark.parametrize(
    "reply",
    ["", "How often?", '{"queries": []}', '{"queries": ["a","b","c","d"]}', '{"queries": [7]}', '["a"]'],
)
def test_a_reply_that_is_not_that_json_is_an_error(reply: str) -> None:
    with pytest.raises(ModelError, match="form"):
        rewritten(reply)


def test_the_prompt_has_the_newest_messages_the_language_and_the_message_last() -> None:
    long = [Message("user", f"question {number}") for number in range(20)]
    system, *_, asked = rewrite_prompt([*long, *HISTORY], "and how {y}?", languages=["de"], hyde=True)
    assert "de" in system.text
    assert "plausible details" in system.text
    assert asked.text.count("\n") == LAST_MESSAGES
    assert asked.text.endswith("Last message: and how {y}?")
    assert "Assistant: Open the panel {x}." in asked.text
