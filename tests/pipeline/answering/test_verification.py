"""Unsupported sentences are marked with what is missing; supported ones are not."""

from __future__ import annotations

import pytest

from pipeline.answer import Support
from pipeline.answering.citations import sentences_of
from pipeline.answering.verification import missing_facts, states_something, verify
from tests.fakes import FakeEncoder
from tests.pipeline.answering.test_provenance import citing

SPAN = "The pump P-1 of ECS-LN2-T2 holds 1,000 kPa; run `show P-1` and do not open it."


def checked(answer: str, span: str = SPAN) -> tuple[Support, ...]:
    return verify(answer, sentences_of(answer), [citing(span, span)], encoder=FakeEncoder())


@pytest.mark.parametrize(
    "sentence",
    [
        "The pump P-1 of ECS-LN2-T2 holds 1000 kPa [1].",
        "The pump P-1 holds 1,000 kPa; do not open it [1].",
        "Run `show P-1` and do not open the pump [1].",
    ],
)
def test_what_the_span_says_is_supported(sentence: str) -> None:
    (support,) = checked(sentence)
    assert support.supported, support
    assert support.markers == (1,)


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The pump P-1 of ECS-LN2-T2 holds 2000 kPa [1].", "2000 kpa"),
        ("The pump P-1 of ECS-LN2-T2 holds 1000 bar [1].", "1000 bar"),
        ("The pump P-1 of ECS-LN2-T1 holds 1000 kPa [1].", "ECS-LN2-T1"),
        ("The pump of ECS-LN2-T2: run `show P` [1].", "show p"),
        (
            "The pump P-1 of ECS-LN2-T2 holds 1,000 kPa; run `show P-1` and open it [1].",
            "the passage's “not”",
        ),
    ],
)
def test_what_the_span_does_not_have_is_named(sentence: str, missing: str) -> None:
    (support,) = checked(sentence)
    assert not support.supported
    assert missing in support.missing


def test_an_id_is_not_found_in_a_longer_one() -> None:
    assert missing_facts("Check P-1 now.", ["Check P-10 now."]) == ("P-1",)


def test_a_negation_that_is_put_in_is_named() -> None:
    assert missing_facts("The fan is not broken.", ["The fan is broken."]) == ("not",)


def test_headings_belong_to_the_quote() -> None:
    assert missing_facts("C-112 means low power.", ["It means low power."], around="C-112") == ()


def test_far_and_uncited_sentences_are_not_supported() -> None:
    far, uncited = checked("Bananas grow in warm countries everywhere [1]. The pump holds some pressure now.")
    assert (far.supported, far.missing) == (False, ())
    assert (uncited.supported, uncited.markers) == (False, ())


@pytest.mark.parametrize(
    "text",
    [
        "# A heading of words",
        "Do you want to know more?",
        "Check these:",
        "Here are the steps to take.",
        "The manuals do not say which one.",
        "```\nset A B C D\n```",
        "Close it.",
    ],
)
def test_what_states_nothing_needs_no_citation(text: str) -> None:
    assert not states_something(text)
    assert checked(text) == ()
