"""What a leaf has against what a question asks for."""

from __future__ import annotations

import pytest

from pipeline.answering import leaf_chances as fits
from pipeline.asking.kinds import Asked

OWNERSHIP = frozenset({"ownership"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_Ownership_ is a set of rules.", 2.0),
        ("The ownership is a set of rules.", 2.0),
        ("Because ownership is new, it takes time.", 1.0),
        ("Many a long word goes before ownership is named.", 0.0),
        ("Rust is fast.", 0.0),
        ("Ownership!", 0.0),
    ],
)
def test_a_definition_has_the_thing_alone_before_is(text: str, expected: float) -> None:
    assert fits.defines(text, Asked.DEFINE, OWNERSHIP) == expected
    assert fits.defines(text, Asked.HOW_TO, OWNERSHIP) == 0.0


def test_half_of_what_is_asked_must_be_its_subject() -> None:
    terms = frozenset({"alarm", "c-112", "c", "112"})
    assert fits.defines("The alarm is loud.", Asked.DEFINE, terms) == 0.0
    assert fits.defines("C-112 means no nitrogen.", Asked.DEFINE, terms) == 0.75


def test_each_kind_of_question_has_its_own_fit() -> None:
    assert fits.gives_number("At 900 W.", Asked.HOW_MANY)
    assert not fits.gives_number("At 900 W.", Asked.WHY)
    assert fits.gives_duration("It takes 30 minutes.", Asked.HOW_LONG)
    assert not fits.gives_duration("It takes 30 litres.", Asked.HOW_LONG)
    assert fits.gives_reason("It stops because it is cold.", Asked.WHY)
    assert fits.says_what_to_do("1. Open the locker.", Asked.HOW_TO)
    assert fits.says_what_to_do("If it stays off, power on the backup.", Asked.HOW_TO)
    assert not fits.says_what_to_do("The locker opens.", Asked.HOW_TO)
    assert fits.has_command("`power on X`", "prose", Asked.HOW_TO)
    assert fits.under_fix("Fix for a lost bus", Asked.HOW_TO)
    assert not fits.under_fix("Fix for a lost bus", Asked.WHY)
    assert fits.under_theory("Symptoms", Asked.HOW_TO)


@pytest.mark.parametrize(
    ("question", "asked", "expected"),
    [
        ("How do I restart it?", Asked.HOW_TO, True),
        ("bus A is dead, half of the ship is dark", Asked.OTHER, True),
        ("println but to stderr", Asked.OTHER, False),
        ("Why is the bus dead?", Asked.WHY, False),
    ],
)
def test_a_report_of_trouble_wants_a_fix(question: str, asked: Asked, expected: bool) -> None:
    assert fits.wants_fix(question, asked) is expected
