"""A pasted message is searched for by its questions and its end."""

from __future__ import annotations

from pipeline.asking.questions import LONG, asked_in
from tests.pipeline.chat_runs import NewChat


def test_a_paste_is_read_by_its_questions_and_its_end() -> None:
    paste = f"What does F-51 mean? {'A line of the log. ' * 80}The pump hums. It is stuck."
    assert asked_in(paste) == "What does F-51 mean? The pump hums. It is stuck."
    assert asked_in("x" * LONG) == "x" * LONG
    assert asked_in("x" * LONG + "y") == "x" * (LONG - 1) + "y"


def test_a_long_paste_is_read_quickly_and_cut() -> None:
    assert len(asked_in("? " * 9_000)) <= LONG
    assert len(asked_in("!" * 20_000)) == LONG


def test_an_answer_names_the_corrected_question(new_chat: NewChat) -> None:
    answer = new_chat().answer("what does the nitrogn tank hold")
    assert answer.corrected == "what does the nitrogen tank hold"
    assert answer.condensed_question == "what does the nitrogn tank hold"
