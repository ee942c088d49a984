"""Unsupported sentences are marked with what is missing; supported ones are not, cited or not."""

from __future__ import annotations

import pytest

from pipeline.answer import Support
from pipeline.answering.citations import sentences_of
from pipeline.answering.verification import Judge, states_something, support_score, verify
from tests.pipeline.answering.evidences import ENCODER, evidence

SPAN = "The pump P-1 of ECS-LN2-T2 holds 1,000 kPa; run `show P-1` and never open it."
OTHER = "A radar sees the lander from far away."


def checked(answer: str, *, cut_off: bool = False) -> tuple[Support, ...]:
    judge = Judge(evidence([SPAN], [OTHER]), encoder=ENCODER)
    return verify(answer, sentences_of(answer), judge, cut_off=cut_off)


@pytest.mark.parametrize(
    "sentence",
    [
        "The pump P-1 of ECS-LN2-T2 holds 1000 kPa [1].",
        "The pump P-1 of ECS-LN2-T2 holds 1000 kPa.",
        "The pump P-1 of ECS-LN2-T2 holds 1000 kPa [2].",
        "The pump P-1 holds 1,000 kPa; never open it [1].",
        "Run `show P-1` and never open the pump [1].",
        "A radar sees the lander from far away.",
    ],
)
def test_what_a_passage_says_is_supported_whatever_is_cited(sentence: str) -> None:
    (support,) = checked(sentence)
    assert support.supported, support
    assert support.missing == ()
    assert support.markers == sentences_of(sentence)[0].numbers


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The pump P-1 of ECS-LN2-T2 holds 2000 kPa [1].", "2000 kpa"),
        ("The pump P-1 of ECS-LN2-T2 holds 1000 bar [1].", "1000 bar"),
        ("The pump P-1 of ECS-LN2-T2 holds 2000 kPa.", "2000 kpa"),
        ("The pump P-1 of ECS-LN2-T1 holds 1000 kPa [1].", "ECS-LN2-T1"),
        ("The pump of ECS-LN2-T2: run `show P` [1].", "show p"),
        ("The pump P-1 of ECS-LN2-T2 holds 1,000 kPa; run `show P-1` and open it.", "the passage's “not”"),
        ("A radar does not see the lander from far away.", "not"),
    ],
)
def test_what_the_passages_do_not_have_is_named(sentence: str, missing: str) -> None:
    (support,) = checked(sentence)
    assert not support.supported, support
    assert missing in support.missing


def test_a_sentence_about_something_else_is_not_supported() -> None:
    cited, uncited = checked("Bananas grow in warm countries everywhere [1]. Ripe apples fall in autumn.")
    assert (cited.supported, cited.missing, cited.markers) == (False, (), (1,))
    assert (uncited.supported, uncited.missing, uncited.markers) == (False, (), ())


def test_without_passages_nothing_is_supported() -> None:
    judge = Judge(evidence(), encoder=ENCODER)
    assert not judge("The pump holds 5 kPa.").supported


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("A radar sees the lander. Bananas grow in warm cou", 1),
        ("A radar sees the lander. Bananas grow in warm countries.", 2),
        ("A radar sees the lander. Bananas grow in warm countries [1].", 2),
        ("Bananas grow in warm cou", 0),
        ("", 0),
    ],
)
def test_a_sentence_that_was_cut_off_is_not_checked(answer: str, sentences: int) -> None:
    assert len(checked(answer, cut_off=True)) == sentences
    assert len(checked(answer)) == len(sentences_of(answer))


def test_more_of_a_signal_is_less_support() -> None:
    none = dict.fromkeys(("numbers", "names", "inverted", "opposites", "uncovered", "far"), 0.0)
    assert support_score(none) > 0.7
    for name in none:
        assert support_score(none | {name: 1.0}) < 0.5


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
