"""A "not" and words for the opposite."""

from __future__ import annotations

import pytest

from pipeline.answering.polarity import inverted, negations, opposites


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Do not open it, never.", 2),
        ("It isn’t open.", 1),
        ("No more than 5 minutes, and not only here.", 0),
        ("Use one rather than two.", 1),
        ("It works without a heater.", 0),
        ("It works without needing\na heater.", 1),
    ],
)
def test_negations(text: str, count: int) -> None:
    assert negations(text) == count


@pytest.mark.parametrize(
    ("sentence", "span", "expected"),
    [
        ("The fan is not broken.", "The fan is broken.", ("not",)),
        ("Harbour has a dish.", "Harbour has no dish: nobody reaches it.", ("the passage's “not”",)),
        ("Rust needs a garbage collector.", "It is safe without\nneeding a garbage collector.",
         ("the passage's “not”",)),
        ("Strings are stored.", "The string is stored; it is not indexed.", ()),
        ("No antenna work will help.", "Working on the antenna will not help.", ()),
        ("The engine is left unarmed.", "Do not arm the engine.", ()),
        ("The fan hums.", "The fan hums.", ()),
        ("Contact the administrator.", "If you do not have access, contact the administrator.", ()),
        ("It should not exceed 5 kPa.", "It should be no more than 5 kPa.", ()),
    ],
)  # fmt: skip
def test_a_not_that_one_of_them_has(sentence: str, span: str, expected: tuple[str, ...]) -> None:
    assert inverted(sentence, [span]) == expected


@pytest.mark.parametrize(
    ("sentence", "span", "expected"),
    [
        ("In STANDBY the cell is cold.", "In STANDBY the cell is hot.", ["cold"]),
        ("It cancels the least expensive tasks.", "It cancels the most expensive tasks.", ["least"]),
        ("The part is unstable.", "The part is stable.", ["unstable"]),
        ("The cold cell and the hot one.", "The hot cell and the cold one.", []),
        ("The night is cold.", "Hot soup is served on Sundays.", []),
        ("The cell is hot.", "The cell is warm.", []),
    ],
)
def test_words_for_the_opposite(sentence: str, span: str, expected: list[str]) -> None:
    assert opposites(sentence, [span]) == expected


def test_what_another_sentence_says_is_no_opposite() -> None:
    sentence, span = "The cold cell is off.", "The hot cell is off."
    assert opposites(sentence, [span]) == ["cold"]
    assert opposites(sentence, [span], elsewhere=[frozenset({"cold", "cell"})]) == []
