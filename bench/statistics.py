"""What a list of raw numbers comes to: median, percentile, ratio, and the interval over runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from evals.metrics import NOTHING, Interval, percentile

T_975 = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, two-sided 95 %, by degrees of freedom; more than nine count as nine, which is wider."""


def median(values: Sequence[float]) -> float:
    """The middle value, of an even number the mean of the two in the middle; `NOTHING` for none."""
    return statistics.median(values) if values else NOTHING


def average(values: Sequence[float]) -> float:
    """The arithmetic mean; `NOTHING` for none."""
    return statistics.fmean(values) if values else NOTHING


def p50(values: Sequence[float]) -> float:
    """The 50th percentile, nearest rank, as `athena eval` has it; `NOTHING` for none."""
    return percentile(values, 0.5) if values else NOTHING


def p95(values: Sequence[float]) -> float:
    """The 95th percentile, nearest rank; `NOTHING` for none."""
    return percentile(values, 0.95) if values else NOTHING


def highest(values: Sequence[float]) -> float:
    """The largest value; `NOTHING` for none."""
    return max(values, default=NOTHING)


def ratio(numerator: float, denominator: float) -> float:
    """How many times the denominator fits; `NOTHING` where it is 0 or either is missing."""
    return numerator / denominator if denominator else NOTHING


def over_runs(ratios: Sequence[float]) -> Interval:
    """The geometric mean of the ratios of several runs, with Student's 95 % interval of its logarithm.

    The runs are what varies here, not the questions in them. Without two runs there is no interval.
    """
    if not ratios or any(not ratio > 0 for ratio in ratios):
        return Interval(NOTHING, NOTHING, NOTHING)
    logs = [math.log(ratio) for ratio in ratios]
    centre = statistics.fmean(logs)
    if len(logs) < 2:
        return Interval(math.exp(centre), NOTHING, NOTHING)
    reach = T_975[min(len(logs), len(T_975)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(centre), math.exp(centre - reach), math.exp(centre + reach))
