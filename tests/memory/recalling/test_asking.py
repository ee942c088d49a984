from __future__ import annotations

import pytest

from memory.recalling.turn_search import read_question

SPEAKERS = {"Nadia", "Oskar"}


def test_the_speaker_is_no_word_to_look_for_and_asks_in_the_first_person() -> None:
    asking = read_question("When did Oskar break his collarbone?", speakers=SPEAKERS)
    assert asking.speaker == "Oskar"
    assert asking.terms == ("break", "collarbon")
    assert asking.wording == "When did I break my collarbone?"
    assert asking.when


def test_a_possessive_is_mine() -> None:
    asking = read_question("What's Nadia's hive painted with?", speakers=SPEAKERS)
    assert asking.wording == "What's my hive painted with?"
    assert "nadia" not in asking.terms
    assert not asking.when


def test_two_names_are_no_ones_turns() -> None:
    assert read_question("What do Nadia and Oskar share?", speakers=SPEAKERS).speaker == ""


def test_other_names_are_words_as_all_others() -> None:
    asking = read_question("Who is Bertrand?", speakers=SPEAKERS)
    assert asking.speaker == ""
    assert asking.terms == ("bertrand",)
    assert asking.wording == "Who is Bertrand?"


def test_a_name_within_a_word_is_none() -> None:
    assert read_question("What is an Oskarian?", speakers=SPEAKERS).speaker == ""


@pytest.mark.parametrize(
    ("question", "of_assistant"),
    [("What did you recommend for my knee?", True), ("What is my budget?", False), ("Is Youri here?", False)],
)
def test_what_the_assistant_said_is_asked_of_you(question: str, of_assistant: bool) -> None:
    assert read_question(question, speakers=()).of_assistant is of_assistant
