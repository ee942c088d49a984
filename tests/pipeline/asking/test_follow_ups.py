"""Condensing by rules on dialogues made by hand, and what a model's rewrite is allowed to be."""

from __future__ import annotations

import time

import pytest

from pipeline.asking.follow_ups import (
    FROM_MEMORY,
    LONGEST_CARRIED,
    MAX_CONDENSED,
    by_rules,
    condense,
    for_memory,
)
from pipeline.errors import ModelError
from pipeline.messages import Message

TANK = "The LN2 tank shows OFFLINE, what can be the reason?"
HISTORY = [Message("user", TANK), Message("assistant", "Check the breaker of the tank heater.")]


def test_a_topic_switch_loses_its_introduction_and_carries_nothing() -> None:
    found = by_rules(HISTORY, "Another question: how much propellant is left?")
    assert (found.question, found.carried, found.by) == ("how much propellant is left?", "", "rules")


def test_follow_ups_lead_back_to_their_topic_over_thanks() -> None:
    history = [
        *HISTORY,
        Message("user", "And the relief valve of it?"),
        Message("assistant", "Closed."),
        Message("user", "thanks"),
    ]
    assert by_rules(history, "why?").carried == f"{TANK.rstrip('?')}; And the relief valve of it"


def test_a_message_of_small_words_alone_is_not_searched_for_by_itself() -> None:
    assert by_rules(HISTORY, "why?").alternative is None
    assert by_rules(HISTORY, "what about the backup?").alternative is not None


def test_only_the_latest_topic_is_carried() -> None:
    history = [
        *HISTORY,
        Message("user", "How do I align the star tracker after a reset?"),
        Message("assistant", "So."),
    ]
    assert by_rules(history, "and if that fails?").carried == "How do I align the star tracker after a reset"


def test_what_the_memory_answered_is_no_topic_of_the_documents() -> None:
    history = [Message("user", "which locker is mine"), Message("assistant", FROM_MEMORY)]
    assert by_rules(history, "what about the pilot").question == "what about the pilot"
    assert by_rules([*HISTORY, *history], "and if that fails?").carried == TANK.rstrip("?")
    assert for_memory(history, "what about the pilot") == ""
    assert for_memory(history, "and where is it?") == "which locker is mine: and where is it?"
    assert for_memory([*history, *HISTORY], "and where is it?") == ""


def test_a_long_topic_is_shortened_at_a_word() -> None:
    carried = by_rules([Message("user", "Align the star tracker " * 30)], "why?").carried
    assert len(carried) <= LONGEST_CARRIED
    assert carried.split()[-1] in ("Align", "the", "star", "tracker")


def test_without_a_history_nothing_is_asked_of_the_model() -> None:
    assert condense([], "why?", rewrite=lambda history, message: 1 / 0).question == "why?"  # type: ignore[arg-type,return-value]


def test_the_models_version_is_tidied() -> None:
    found = condense(HISTORY, "why?", rewrite=lambda *_: '\nQuestion: "Why is the LN2 tank OFFLINE?"\n')
    assert (found.question, found.by, found.problem) == ("Why is the LN2 tank OFFLINE?", "model", "")


def test_a_model_that_changes_nothing_is_as_asked() -> None:
    assert condense(HISTORY, "What is C-112?", rewrite=lambda _, message: message).by == "as asked"


@pytest.mark.parametrize("reply", ["", " \n ", "word " * MAX_CONDENSED, "a\nb\nc\nd"])
def test_a_version_that_is_no_question_is_replaced_by_the_rules_and_said(reply: str) -> None:
    found = condense(HISTORY, "why?", rewrite=lambda *_: reply)
    assert found.by == "rules"
    assert found.question.endswith("reason: why?")
    assert found.problem == "the model's version could not be used"


def test_a_failing_model_is_replaced_by_the_rules_and_said() -> None:
    def fail(*_: object) -> str:
        raise ModelError("It is ill.", "Wait.")

    found = condense(HISTORY, "why?", rewrite=fail)
    assert (found.by, found.problem) == ("rules", "It is ill. Wait.")


@pytest.mark.parametrize(
    ("asked", "message", "question"),
    [
        ("what feeds fan 1", "sorry 2", "what feeds fan 2"),
        ("What does P-AIR-03 say?", "I meant 04", "What does P-AIR-04 say?"),
        ("my locker is 34", "sorry 35", "sorry 35"),
        ("is bus 1 or bus 2 live?", "sorry 3", "sorry 3"),
    ],
)
def test_a_number_is_put_right_in_the_question_before(asked: str, message: str, question: str) -> None:
    history = [Message("user", asked), Message("assistant", "It is so.")]
    assert condense(history, message).question.endswith(question)
    if question != message:
        later = condense([*history, Message("user", message), Message("assistant", "So.")], "why?")
        assert later.carried == question.rstrip("?")


def test_a_message_that_puts_nothing_right_is_read_quickly() -> None:
    said = [Message("user", "what feeds fan 1"), Message("assistant", "Breaker B7.")]
    begun = time.thread_time()
    by_rules(said, f"sorry {'-' * 600}{'1' * 600}!x")
    assert time.thread_time() - begun < 1
