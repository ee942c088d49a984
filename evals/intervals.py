"""How sure a mean over questions is: bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NOTHING = math.nan
"""Where nothing was measured; every comparison with it is false, so that no target holds by accident."""

RESAMPLES = 10_000
SEED = 13


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean over questions and its 95 % percentile bootstrap interval (Efron, 1979); seeded."""
    if not values:
        return Interval(NOTHING, NOTHING, NOTHING)
    sample = np.asarray(values, dtype=np.float64)
    chance = np.random.default_rng(SEED)
    means = sample[chance.integers(sample.size, size=(RESAMPLES, sample.size))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return Interval(float(sample.mean()), float(low), float(high))


def paired_difference(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """The mean of ours − theirs, question by question, with its bootstrap interval.

    Both lists are over the same questions in the same order; `NOTHING` where they are not as long.
    """
    if len(ours) != len(theirs):
        return Interval(NOTHING, NOTHING, NOTHING)
    return bootstrap([one - other for one, other in zip(ours, theirs, strict=True)])


def bootstrap_ratio(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """Σ parts / Σ wholes over questions, as precision is of sentences, and its 95 % bootstrap interval.

    Questions are drawn, each with all of its sentences, as these are not independent; draws with no whole
    at all are left out. `NOTHING` where the wholes are 0.
    """
    part, whole = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
    if not whole.sum():
        return Interval(NOTHING, NOTHING, NOTHING)
    drawn = np.random.default_rng(SEED).integers(whole.size, size=(RESAMPLES, whole.size))
    sums = whole[drawn].sum(axis=1)
    ratios = part[drawn].sum(axis=1)[sums > 0] / sums[sums > 0]
    low, high = np.percentile(ratios, (2.5, 97.5))
    return Interval(float(part.sum() / whole.sum()), float(low), float(high))
