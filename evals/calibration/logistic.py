"""Logistic regression by Newton's method: enough for a handful of signals, without another dependency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pipeline.finding.verdict import sigmoid

Floats = NDArray[np.float64]
STEPS = 50
FOLDS = 5


def fit(signals: Floats, labels: Floats, *, weights: Floats, ridge: float = 1.0) -> tuple[Floats, float]:
    """Coefficients, shape (signals,), and intercept of P(label = 1), for signals as they are.

    `signals` has shape (examples, signals), `labels` 0 or 1, `weights` how much each example counts.
    The ridge penalty is on coefficients of standardised signals.
    """
    mean, spread = signals.mean(axis=0), signals.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(signals)), (signals - mean) / spread])
    penalty = np.diag([0.0, *[ridge] * signals.shape[1]])
    solution = np.zeros(design.shape[1])
    for _ in range(STEPS):
        predicted = sigmoid(design @ solution)
        curvature = (design * (weights * predicted * (1 - predicted))[:, None]).T @ design + penalty
        gradient = design.T @ (weights * (labels - predicted)) - penalty @ solution
        solution = solution + np.linalg.solve(curvature, gradient)
    coefficients = solution[1:] / spread
    return coefficients, float(solution[0] - coefficients @ mean)


def held_out(signals: Floats, labels: Floats, *, weights: Floats) -> Floats:
    """Each example's P(label = 1), shape (examples,), by coefficients fitted without its own fifth."""
    fold = np.random.default_rng(0).integers(0, FOLDS, len(labels))
    found = np.zeros(len(labels))
    for own in (fold == number for number in range(FOLDS)):
        coefficients, intercept = fit(signals[~own], labels[~own], weights=weights[~own])
        found[own] = sigmoid(signals[own] @ coefficients + intercept)
    return found
