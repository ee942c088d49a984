"""Whether messages ask, state, and are about the one who writes."""

from __future__ import annotations

import pytest

from memory.reading.asking import asked_part, asks, is_personal, only_asks, only_keywords, states


@pytest.mark.parametrize(
    ("message", "asking"),
    [
        ("where does karl live", True),
        ("wich bunk is mine", True),
        ("tell me about my sister", True),
        ("bunk number", True),
        ("my bunk is nr 4", False),
        ("karl moved to munich last week", False),
        ("I moved, did you know?", True),
        ("yes", False),
        ("remember that I like tea", False),
        ("Tim, not Tom", False),
        ("co2 is 1.6 cant think straight, how much time have i got left", True),
        ("i had a headache how long it lasted i dont know", False),
    ],
)
def test_what_asks(message: str, asking: bool) -> None:
    assert asks(message) is asking


@pytest.mark.parametrize(
    ("message", "keywords"),
    [
        ("diff between OFFLINE and MALFUNC", True),
        ("oxigen tank ofline wat now", True),
        ("fuel cell A serial number", True),
        ("my locker is 12", False),
        ("dinner with Clara at the harbour", False),
        ("locker 12 and bunk 4 and shelf 3", False),
        ("dentist and gym and choir on Friday", False),
        ("fan broken since the second burn, replaced", False),
        ("the pump is off again", False),
    ],
)
def test_what_is_keywords_and_tells_nothing(message: str, keywords: bool) -> None:
    assert only_keywords(message) is keywords


@pytest.mark.parametrize(
    ("message", "only"),
    [
        ("co2 is 1.6 cant think straight, how much time have i got left", True),
        ("my locker is 12, where do i put the spare suit", False),
        ("What feeds the fan? How loud is it?", True),
    ],
)
def test_what_leads_to_a_question_tells_nothing_but_of_the_user(message: str, only: bool) -> None:
    assert only_asks(message) is only


@pytest.mark.parametrize(
    ("message", "stating"),
    [
        ("karl moved to munich last week", True),
        ("we sold the car", True),
        ("the pump is off again", False),
        ("Petra works at Zalando.", True),
        ("where is the car", False),
        ("sourdough bread recipe for beginners", False),
        ("sold the Skoda", True),
        ("not moving to Bristol after all", True),
        ("left Acme, at Globex now", True),
        ("Tim, not Tom", True),
    ],
)
def test_what_states(message: str, stating: bool) -> None:
    assert states(message) is stating


@pytest.mark.parametrize(
    ("message", "personal"),
    [
        ("am I allergic to peanuts?", True),
        ("where does Karl live?", True),
        ("where does Petra live?", False),
        ("how do I reset the pump?", False),
        ("can I fire the engine?", False),
        ("show me the table of slots", False),
        ("show me my notes", True),
        ("What should I read next?", True),
        ("What should I check before docking?", False),
    ],
)
def test_what_is_about_the_user_or_somebody_they_spoke_of(message: str, personal: bool) -> None:
    assert is_personal(message, was_said=lambda word: word == "Karl") is personal


def test_only_the_sentences_that_ask_are_looked_for() -> None:
    assert asked_part("My bunk is 6. What feeds the fan?") == "What feeds the fan?"
    assert asked_part("what feeds the fan") == "what feeds the fan"


@pytest.mark.parametrize(
    "message",
    [
        "bob hates olives",
        "tom plays the cello",
        "allergic to nuts",
        "hey were moving to bristol in june, still in leeds till then",
        "remind me i promised bilal a swap",
    ],
)
def test_a_short_message_that_tells_something_is_not_taken_for_what_is_looked_for(message: str) -> None:
    assert not only_asks(message)
    assert not only_keywords(message)


@pytest.mark.parametrize("message", ["cabin fan noise", "diff between A and B", "battery serial number"])
def test_keywords_tell_nothing(message: str) -> None:
    assert only_keywords(message)
