"""What a list of raw numbers comes to: median, percentile, ratio."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from evals.metrics import percentile

NOTHING = math.nan
"""Where nothing was measured; every comparison with it is false, so that no target holds by accident."""


def median(values: Sequence[float]) -> float:
    """The middle value, of an even number the mean of the two in the middle; `NOTHING` for none."""
    return statistics.median(values) if values else NOTHING


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
