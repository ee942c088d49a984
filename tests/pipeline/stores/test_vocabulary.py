"""Words are counted as they are written."""

from __future__ import annotations

from pipeline.stores.vocabulary import count_words


def test_compounds_count_as_a_whole_and_in_parts() -> None:
    assert count_words(["The warm-up. A warm WARM-UP", "it's S-band"]) == {
        "the": 1, "warm-up": 2, "warm": 3, "up": 2, "a": 1, "it": 1, "s": 2, "s-band": 1, "band": 1,
    }  # fmt: skip


def test_words_with_digits_are_none() -> None:
    assert count_words(["ECS-LN2-T1 at 4000 rpm, CO2, v1.2, snake_case"]) == {
        "at": 1, "rpm": 1, "snake": 1, "case": 1,
    }  # fmt: skip
