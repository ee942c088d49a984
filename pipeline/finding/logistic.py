"""Logits as probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def sigmoid(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Logits as 0..1; those beyond 60 are 0 or 1 to any precision that is shown."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))))
