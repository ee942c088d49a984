"""Importance is rated by rules, with the reason."""

from __future__ import annotations

import pytest

from memory.reading.rules import importance_of


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("I am allergic to peanuts", 9),
        ("My name is Anna", 8),
        ("I live in Porto", 7),
        ("I prefer zsh", 6),
        ("The shelf is blue", 5),
        ("I am tired", 3),
        ("hello", 2),
    ],
)
def test_ratings(text: str, rating: int) -> None:
    found = importance_of(text)
    assert found.rating == rating
    assert found.explanation
