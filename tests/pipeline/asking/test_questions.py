"""A pasted message is searched for by its beginning and its end."""

from __future__ import annotations

from pipeline.asking.questions import LONG, asked_in
from tests.pipeline.chat_runs import NewChat


def test_a_paste_is_read_by_its_beginning_and_its_end() -> None:
    asked = asked_in(f"What does F-51 mean? {'A line of the log. ' * 80}Why is it stuck?")
    assert asked.startswith("What does F-51 mean?") and asked.endswith("Why is it stuck?")
    assert asked_in("x" * LONG) == "x" * LONG
    assert len(asked_in("x" * 20_000)) < LONG


def test_an_answer_names_the_corrected_question(new_chat: NewChat) -> None:
    answer = new_chat().answer("what does the nitrogn tank hold")
    assert answer.corrected == "what does the nitrogen tank hold"
    assert answer.condensed_question == "what does the nitrogn tank hold"
