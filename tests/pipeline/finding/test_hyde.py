"""HyDE: the mean of question and hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.hyde import combine
from pipeline.stores.base import Vector


def unit(*values: float) -> Vector:
    vector = np.array(values, dtype=np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def test_opposite_vectors_leave_the_question_alone() -> None:
    assert combine(unit(3, 4), unit(-3, -4)) == pytest.approx([0.6, 0.8])


@given(st.integers(0, 2**32 - 1))
def test_the_result_is_as_near_to_one_as_to_the_other_and_a_unit(seed: int) -> None:
    question, hypothesis = (unit(*row) for row in np.random.default_rng(seed).standard_normal((2, 8)))
    combined = combine(question, hypothesis)
    assert float(np.linalg.norm(combined)) == pytest.approx(1, abs=1e-5)
    assert float(combined @ question) == pytest.approx(float(combined @ hypothesis), abs=1e-4)
    assert combined.dtype == np.float32
