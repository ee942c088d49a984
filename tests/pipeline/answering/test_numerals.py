"""Numbers in words become digits."""

from __future__ import annotations

import pytest

from pipeline.answering.exact_facts import in_digits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two tanks and twenty-five parts", "2 tanks and 25 parts"),
        ("one of them", "one of them"),
        ("one byte", "1 byte"),
        ("two and a half hours", "2.5 hours"),
        ("an hour and a half", "1.5 hours"),
        ("half a day, a quarter of an hour", "0.5 day, 0.25 hour"),
        ("1.5 kPa an hour", "1.5 kPa per hour"),
        ("nine tenths of it", "90 % of it"),
        ("three hundred, two thousand", "300, 2000"),
        ("at ten o'clock at night", "at 22:00"),
        ("a two-phase commit after a ten-minute purge", "a two-phase commit after a 10-minute purge"),
    ],
)
def test_in_digits(text: str, expected: str) -> None:
    assert in_digits(text) == expected
