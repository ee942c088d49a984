from __future__ import annotations

import numpy as np
import pytest

from evals.calibration.logistic import fit, held_out


def test_an_example_is_judged_by_coefficients_that_have_not_seen_it() -> None:
    signals = np.arange(40, dtype=float).reshape(-1, 1)
    labels = (signals[:, 0] >= 20).astype(float)
    odd = labels.copy()
    odd[0] = 1.0  # one label is wrong
    counts = np.ones(len(labels))
    found = held_out(signals, odd, weights=counts)
    own = np.random.default_rng(0).integers(0, 5, len(labels))
    [coefficient], intercept = fit(signals[own != own[0]], odd[own != own[0]], weights=counts[own != own[0]])
    assert found[0] == pytest.approx(1 / (1 + np.exp(-(coefficient * signals[0, 0] + intercept))))
    assert found[0] < 0.1 < 0.9 < found[-1]
