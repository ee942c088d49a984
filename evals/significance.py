"""Compare two sets of scores on the same questions: is the difference better, worse or noise?

A paired bootstrap over questions (Efron & Tibshirani, 1993) gives the difference, its 95 % interval and p. If
several comparisons are made at once, p is corrected by Holm's method (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from evals.metrics import RESAMPLES, resampled_means
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Verdict = Literal["better", "worse", "noise"]

LEVEL = 0.05
SAME = 1e-12  # scores that differ by less are equal


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a` compared with `b` on the same questions: the difference is a − b, the verdict is about `a`."""

    a: str
    b: str
    metric: str
    difference: float
    interval: tuple[float, float]  # 95 %
    p: float  # two-sided; after `holm` the corrected one
    verdict: Verdict
    questions: int


def compare(a: str, b: str, metric: str, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
    """Compare two lists of scores: of `a` and of `b`, for the same questions in the same order.

    p is twice the smaller share of resampled differences on either side of 0, and at least 2 / 2^k for k
    differing questions (a sign test's smallest p): resampling a few questions cannot show more. Raises
    `DatasetError` for empty lists or lists of different length.
    """
    if len(ours) != len(theirs) or not ours:
        raise DatasetError(
            f"'{a}' has {len(ours)} scores of {metric} and '{b}' has {len(theirs)}: they cannot be paired.",
            "Compare runs over the same questions.",
        )
    differences = np.subtract(ours, theirs, dtype=np.float64)
    differences[np.abs(differences) < SAME] = 0.0
    means = resampled_means(differences.tolist())
    low, high = np.percentile(means, (2.5, 97.5))
    sign_floor = min(1.0, 2.0 ** (1 - int(np.count_nonzero(differences))))
    p = max(_two_sided(means), sign_floor)
    difference = float(differences.mean())
    return Comparison(
        a=a,
        b=b,
        metric=metric,
        difference=difference,
        interval=(float(low), float(high)),
        p=p,
        verdict=_verdict(difference, p),
        questions=len(ours),
    )


def holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons in the same order, with p and verdict corrected for their number.

    The i-th smallest (i from 1) of m p-values is multiplied by m − i + 1, and never less than the one before.
    """
    corrected = list(comparisons)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(corrected)), key=lambda index: corrected[index].p)):
        one = corrected[index]
        least = max(least, min(1.0, one.p * (len(corrected) - rank)))
        corrected[index] = replace(one, p=least, verdict=_verdict(one.difference, least))
    return tuple(corrected)


def _two_sided(means: NDArray[np.float64]) -> float:
    below, above = int((means <= SAME).sum()), int((means >= -SAME).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (RESAMPLES + 1))


def _verdict(difference: float, p: float) -> Verdict:
    if p >= LEVEL:
        return "noise"
    return "better" if difference > 0 else "worse"
