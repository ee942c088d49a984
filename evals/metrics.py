"""Metrics of rankings (0..1, higher is better), and bootstrap intervals of means over questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOTHING = math.nan
"""The value without data: every comparison with NaN is false, so no target holds by accident."""

RESAMPLES = 10_000
SEED = 13


def ndcg_at(ranking: Sequence[str], relevant: Mapping[str, int], k: int) -> float:
    """Normalised discounted cumulative gain at rank `k` (Järvelin & Kekäläinen, 2002), gain = relevance.

    DCG = Σ relevance(i) / log2(i + 1) over ranks i = 1..k, divided by the DCG of the best possible order;
    the same as trec_eval's `ndcg_cut`. 0 if nothing is relevant.
    """
    ideal = _dcg(sorted(relevant.values(), reverse=True)[:k])
    return _dcg([relevant.get(item, 0) for item in ranking[:k]]) / ideal if ideal else 0.0


def ndcg_of_gains(gains: Sequence[int], relevant: int, k: int) -> float:
    """Like `ndcg_at`, for ranks that may hold several relevant items.

    `gains[i]` is the number of relevant items first found at rank i + 1; `relevant` is the number of all. The
    ideal order has one item at each rank; the value is at most 1, and 0 if nothing is relevant.
    """
    ideal = _dcg([1] * min(relevant, k))
    return min(1.0, _dcg(gains[:k]) / ideal) if ideal else 0.0


def recall_at(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """The share of the relevant ids that are among the first `k`; 0 if nothing is relevant."""
    return len(set(ranking[:k]) & set(relevant)) / len(relevant) if relevant else 0.0


def reciprocal_rank_at(ranking: Sequence[str], relevant: Collection[str], k: int) -> float:
    """1 / rank of the first relevant id among the first `k`, else 0; its mean is MRR."""
    wanted = set(relevant)
    return next((1 / rank for rank, item in enumerate(ranking[:k], start=1) if item in wanted), 0.0)


def auroc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Area under the ROC curve: how often a positive scores above a negative, ties counting half.

    None if one of the two classes is missing.
    """
    every, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    if is_positive.all() or not is_positive.any():
        return None
    differences = every[is_positive][:, None] - every[~is_positive][None, :]
    return float(((differences > 0) + 0.5 * (differences == 0)).mean())


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: `share` (0..1) of the values are at most this value; 0 for no values."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0 for no values."""
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean and its 95 % percentile bootstrap interval (Efron, 1979), seeded; NaN for no values."""
    if not values:
        return Interval(NOTHING, NOTHING, NOTHING)
    low, high = np.percentile(resampled_means(values), (2.5, 97.5))
    return Interval(float(np.mean(values)), float(low), float(high))


def resampled_means(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the means of `RESAMPLES` samples drawn with replacement, with a fixed seed."""
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(SEED).integers(sample.size, size=(RESAMPLES, sample.size))
    means: NDArray[np.float64] = sample[drawn].mean(axis=1)
    return means


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
