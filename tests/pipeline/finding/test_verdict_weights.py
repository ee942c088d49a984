"""Logits as probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.finding.verdict_weights import sigmoid


def test_sigmoid() -> None:
    assert sigmoid(np.array([0.0, math.log(3), -math.log(3)])) == pytest.approx([0.5, 0.75, 0.25])
    assert sigmoid(np.array([1e6, -1e6])) == pytest.approx([1.0, 0.0])
