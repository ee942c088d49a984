"""The words of the documents."""

from __future__ import annotations

from pipeline.stores.base import count_words


def test_words_are_counted_in_lower_case_and_compounds_by_their_parts() -> None:
    counts = {"the": 1, "warm": 3, "up": 2, "a": 1, "it": 1, "s": 2, "band": 1}
    assert count_words(["The warm-up. A warm WARM-UP", "it's S-band"]) == counts


def test_what_has_a_digit_is_no_word() -> None:
    assert count_words(["at 4000 rpm, CO2, v1, snake_case"]) == {"at": 1, "rpm": 1, "snake": 1, "case": 1}
