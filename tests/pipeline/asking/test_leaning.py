"""Whether a message leans on what was said before it."""

from __future__ import annotations

import pytest

from pipeline.asking.follow_ups import leans


@pytest.mark.parametrize(
    "message",
    ["what is prebreathing?", "What's an inverter?", "who is Patel", "What are amine beds?", "Define DRIFT"],
)
def test_a_definition_of_one_thing_names_its_topic(message: str) -> None:
    assert not leans(message)


@pytest.mark.parametrize(
    "message",
    [
        "how do I change over to the other oxygen tank",
        "both cooling pumps are gone, what breaks first and when",
        "the mixing valve is at POSITION 85, is that right?",
        "smoke in the cabin!",
        "What about the star tracker after a long burn, when must it be aligned?",
    ],
)
def test_a_message_that_says_enough_stands_alone(message: str) -> None:
    assert not leans(message)


@pytest.mark.parametrize(
    "message",
    [
        "can the other one carry everything?",
        "and what do I do after a burn?",
        "how long do they need until they work?",
        "what is the limit?",
        "what is that?",
        "what is its limit?",
        "who is she",
        "what is left?",
        "What is it",
    ],
)
def test_what_points_at_something_known_leans(message: str) -> None:
    assert leans(message)
