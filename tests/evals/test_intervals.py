"""Bootstrap intervals beside what statistics expects of them."""

from __future__ import annotations

import math

import pytest

from evals.metrics import bootstrap, bootstrap_ratio, paired_difference


def test_the_bootstrap_is_seeded_and_has_the_width_of_the_normal_interval() -> None:
    values = [0.0, 1.0] * 50
    interval = bootstrap(values)
    assert interval == bootstrap(values)
    # standard error of the mean: .5 / √100 = .05; ± 1.96 × .05 = ± .098
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.5, 0.402, 0.598), abs=0.012)


def test_a_difference_is_paired_by_question() -> None:
    ours, theirs = [0.9, 0.1, 0.5, 0.3], [0.8, 0.0, 0.4, 0.2]
    difference = paired_difference(ours, theirs)
    # each question by exactly .1, however much the questions differ among themselves
    assert (difference.low, difference.value, difference.high) == pytest.approx((0.1, 0.1, 0.1))
    assert math.isnan(paired_difference(ours, theirs[:2]).value)


def test_nothing_has_no_interval() -> None:
    assert math.isnan(bootstrap([]).value)


def test_a_ratio_is_of_sums_over_questions() -> None:
    ratio = bootstrap_ratio([1, 0, 3], [1, 1, 4])
    assert ratio.value == pytest.approx(4 / 6)
    assert ratio == bootstrap_ratio([1, 0, 3], [1, 1, 4])
    assert 0 <= ratio.low < ratio.value < ratio.high <= 1


def test_a_ratio_of_nothing_is_nothing() -> None:
    assert math.isnan(bootstrap_ratio([0, 0], [0, 0]).value)
    assert math.isnan(bootstrap_ratio([], []).value)
