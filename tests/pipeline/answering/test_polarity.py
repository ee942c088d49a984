"""A "not" and words for the opposite."""

from __future__ import annotations

from pipeline.answering.polarity import opposites


def test_what_another_sentence_says_is_no_opposite() -> None:
    sentence, span = "The cold cell is off.", "The hot cell is off."
    assert opposites(sentence, [span]) == ["cold"]
    assert opposites(sentence, [span], elsewhere=[frozenset({"cold", "cell"})]) == []
