"""What a list of raw numbers comes to: median, percentile, ratio, and intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evals.metrics import percentile

NOTHING = math.nan
"""Where nothing was measured; every comparison with it is false, so that no target holds by accident."""

RESAMPLES = 10_000
SEED = 13
T_975 = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t, two-sided 95 %, by degrees of freedom; more than nine count as nine, which is wider."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float


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


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean over questions and its 95 % percentile bootstrap interval (Efron, 1979); seeded."""
    if not values:
        return Interval(NOTHING, NOTHING, NOTHING)
    sample = np.asarray(values, dtype=np.float64)
    chance = np.random.default_rng(SEED)
    means = [chance.choice(sample, sample.size).mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, (2.5, 97.5))
    return Interval(float(sample.mean()), float(low), float(high))


def paired_difference(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """The mean of ours − theirs, question by question, with its bootstrap interval.

    Both lists are over the same questions in the same order; `NOTHING` where they are not as long.
    """
    if len(ours) != len(theirs):
        return Interval(NOTHING, NOTHING, NOTHING)
    return bootstrap([one - other for one, other in zip(ours, theirs, strict=True)])


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
