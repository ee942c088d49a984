"""HyDE: the mean of question and hypothesis, and the hypothesis cut to size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.hyde import MAX_HYPOTHESIS_CHARACTERS, combine, tidy
from pipeline.stores.base import Vector


def unit(*values: float) -> Vector:
    vector = np.array(values, dtype=np.float32)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def test_the_mean_is_renormalised() -> None:
    combined = combine(unit(1, 0), unit(0, 1))
    assert combined == pytest.approx([0.5**0.5, 0.5**0.5])
    assert combined.dtype == np.float32


def test_opposite_vectors_leave_the_question_alone() -> None:
    assert combine(unit(3, 4), unit(-3, -4)) == pytest.approx([0.6, 0.8])


@given(st.integers(0, 2**32 - 1))
def test_the_result_is_as_near_to_one_as_to_the_other(seed: int) -> None:
    question, hypothesis = (unit(*row) for row in np.random.default_rng(seed).standard_normal((2, 8)))
    combined = combine(question, hypothesis)
    assert float(np.linalg.norm(combined)) == pytest.approx(1, abs=1e-5)
    assert float(combined @ question) == pytest.approx(float(combined @ hypothesis), abs=1e-4)


def test_arguments_are_left_as_they_are() -> None:
    question, hypothesis = unit(1, 0), unit(0, 1)
    combine(question, hypothesis)
    assert (question.tolist(), hypothesis.tolist()) == ([1, 0], [0, 1])


def test_a_hypothesis_is_stripped_and_cut() -> None:
    assert tidy("\n  The fan is off. \n") == "The fan is off."
    assert len(tidy("  " + "word " * 2000)) == MAX_HYPOTHESIS_CHARACTERS
    assert tidy(" \n ") == ""
