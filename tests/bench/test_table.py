"""Medians, percentiles and ratios by hand."""

import math

import pytest

from bench.table import highest, median, p50, p95, ratio


def test_the_median_of_an_odd_and_an_even_number_of_values():
    assert median([9.0, 1.0, 2.0]) == 2.0
    assert median([9.0, 1.0, 2.0, 4.0]) == 3.0  # (2 + 4) / 2


def test_percentiles_are_by_nearest_rank():
    values = [float(n) for n in range(20, 0, -1)]  # 20 … 1
    assert p50(values) == 10.0  # rank ceil(0.5 * 20) = 10
    assert p95(values) == 19.0  # rank ceil(0.95 * 20) = 19
    assert p95([7.0]) == 7.0


@pytest.mark.parametrize("value", [median([]), p50([]), p95([]), highest([]), ratio(1.0, 0.0)])
def test_nothing_measured_is_not_a_number(value):
    assert math.isnan(value)
