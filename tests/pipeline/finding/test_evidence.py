"""Which kind of fact a question asks for, and whether a text has one."""

from __future__ import annotations

import pytest

from pipeline.finding.verdict_signals import focus_terms, lacks_fact


@pytest.mark.parametrize(
    ("question", "with_it", "without"),
    [
        ("who invented the pump", "It was made by Ada Lovelace.", "The Pump was made in a hurry."),
        ("what is the name of the director", "Ask director Ada Lovelace.", "Ask the director."),
        ("Which company built the beds?", "The beds of Acme Filters.", "# Acme Filters\nThe beds."),
        ("which year did it become stable", "It is stable since 1969.", "It is stable since version 3."),
        ("when did we lift off", "We left on 3 March.", "We left in the morning."),
        ("what is the price of an hour", "An hour is 24 cents.", "An hour is billed by use."),
        ("how much does the mission cost?", "It takes $3.", "It takes 3 crew."),
        ("how old is the pilot", "She is 34 years old.", "She flew in 34 ships."),
        ("what frequency is the radio on", "It sends on 259.7 MHz.", "It sends on channel 4."),
        ("at what temperature does it freeze", "It freezes at -12 °C.", "It freezes in winter."),
        ("how thick is the shield", "The shield has 40 mm.", "The shield has 40 tiles."),
        ("how heavy is a suit?", "It has 80 kg.", "It has 80 pockets."),
        ("how long does it last", "It lasts two more hours.", "It lasts as long as 40 percent is left."),
        ("how many nanoseconds slower is it", "It takes 20 ns.", "It takes 20 steps."),
        ("how many panels are there", "There are six panels.", "There are panels."),
    ],
)
def test_a_fact_that_is_asked_for(question: str, with_it: str, without: str) -> None:
    assert lacks_fact(question, [without])
    assert not lacks_fact(question, [without, with_it])


@pytest.mark.parametrize(
    "question",
    [
        "who decides that",
        "when do I stop",
        "could that have cost me the radio?",
        "fan noise",
        "how do I stop it",
    ],
)
def test_questions_whose_answer_may_look_like_anything(question: str) -> None:
    assert not lacks_fact(question, ["Nothing."])


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("which company built the beds", ("compani", "built")),
        ("the name of the director", ("director",)),
        ("why is it dark", ()),
    ],
)
def test_the_words_that_say_what_is_asked_for(question: str, terms: tuple[str, ...]) -> None:
    assert focus_terms(question) == terms
