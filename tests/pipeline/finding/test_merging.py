"""Auto-merge: which sections replace their sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.merging import Merge, merge_sections


def merged(found: int, siblings: int, threshold: float) -> bool:
    ids = [f"s{number}" for number in range(found)]
    return merge_sections({"a": ids}, {"a": siblings}, simple_ratio_thresh=threshold)["a"].merged


@pytest.mark.parametrize(
    ("found", "siblings", "threshold", "expected"),
    [
        (2, 4, 0.5, True),  # exactly equal merges
        (3, 4, 0.75, True),
        (2, 5, 0.5, False),
        (3, 5, 0.5, True),
        (1, 1, 0.5, False),  # a single child never
        (1, 1, 0.0, False),
        (1, 2, 0.5, False),  # at least two
        (2, 2, 1.0, True),
        (2, 3, 1.0, False),
        (2, 1000, 0.0, True),
        (0, 3, 0.0, False),
    ],
)
def test_thresholds(found: int, siblings: int, threshold: float, expected: bool) -> None:
    assert merged(found, siblings, threshold) is expected


def test_a_sentence_found_twice_counts_once() -> None:
    merges = merge_sections({"a": ["x", "x"], "b": ["x", "y"]}, {"a": 2, "b": 2}, simple_ratio_thresh=0.5)
    assert merges == {"a": Merge("a", 1, 2, False), "b": Merge("b", 2, 2, True)}


@given(st.integers(0, 30), st.integers(1, 30), st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_merges_less(found: int, siblings: int, one: float, two: float) -> None:
    if merged(found, siblings, max(one, two)):
        assert merged(found, siblings, min(one, two))
        assert found >= 2
