"""The two sides of a comparison, as the question names them."""

from __future__ import annotations

import pytest

from pipeline.asking.kinds import Sides, sides_of


@pytest.mark.parametrize(
    ("question", "one", "two"),
    [
        ("Compare Box and Rc", "Box", "Rc"),
        ("compare the LOX tanks with the LN2 tanks", "LOX tanks", "LN2 tanks"),
        ("what is the difference between String and &str?", "String", "&str"),
        ("What's the difference between F-12 and F-51, please?", "F-12", "F-51"),
        ("difference of RATE HIGH to RATE LOW", "RATE HIGH", "RATE LOW"),
        ("bed A vs bed B", "bed A", "bed B"),
        ("high-gain antenna versus low-gain antenna?", "high-gain antenna", "low-gain antenna"),
        ("How does a warning differ from a caution?", "warning", "caution"),
        ("how do fuel cells and batteries differ", "fuel cells", "batteries"),
        ("how is a struct different from a tuple", "struct", "tuple"),
        ("How does bed A compare to bed B?", "bed A", "bed B"),
        ("Is the canister better than a bed?", "canister", "bed"),
    ],
)
def test_both_sides_are_found(question: str, one: str, two: str) -> None:
    assert sides_of(question) == Sides(one, two)


@pytest.mark.parametrize(
    "question",
    [
        "compare them",
        "What is the difference?",
        "How do I set a key?",
        "Compare fans and fans",
        "difference between " + "one " * 9 + "and two",
        "",
    ],
)
def test_without_two_sides_there_is_nothing_to_compare(question: str) -> None:
    assert sides_of(question) is None
