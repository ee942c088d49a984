"""Comparisons beside hand arithmetic, and beside every resample that there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evals.significance import Comparison, compare, holm
from pipeline.errors import DatasetError


def compared(ours: list[float], theirs: list[float]) -> Comparison:
    return compare("ours", "theirs", "hit@3", ours, theirs)


def test_the_difference_is_ours_minus_theirs_and_the_verdict_is_on_ours() -> None:
    hits, misses = [1.0] * 9 + [0.0], [0.0] * 10
    better, worse = compared(hits, misses), compared(misses, hits)
    assert (better.difference, better.verdict) == (pytest.approx(0.9), "better")
    assert (worse.difference, worse.verdict) == (pytest.approx(-0.9), "worse")
    assert better.interval == pytest.approx((-worse.interval[1], -worse.interval[0]))
    assert compared(hits, misses) == better  # the draws are always the same


@pytest.mark.parametrize(
    "differences", [[0.5, -0.25, 1.0, 0.25], [1.0, 0.0, -1.0, 0.5, 0.5], [0.1, 0.2, 0.3]]
)
def test_it_agrees_with_all_resamples_that_there_are(differences: list[float]) -> None:
    means = np.array([np.mean(draw) for draw in product(differences, repeat=len(differences))])
    exact = min(1.0, 2 * min((means <= 1e-12).mean(), (means >= -1e-12).mean()))
    signs = 2 / 2 ** sum(difference != 0 for difference in differences)
    found = compared(differences, [0.0] * len(differences))
    assert found.p == pytest.approx(max(exact, signs), abs=0.015)
    # a bound may fall on either of two neighbouring means
    bounds = np.quantile(means, (0.02, 0.03, 0.97, 0.98), method="inverted_cdf")
    assert bounds[0] - 1e-9 <= found.interval[0] <= bounds[1] + 1e-9
    assert bounds[2] - 1e-9 <= found.interval[1] <= bounds[3] + 1e-9


def test_the_same_scores_are_noise() -> None:
    found = compared([0.3, 0.1 + 0.2], [0.3, 0.3])  # the second differs by rounding alone
    assert (found.difference, found.interval, found.p, found.verdict) == (0.0, (0.0, 0.0), 1.0, "noise")


@pytest.mark.parametrize(("differing", "verdict"), [(5, "noise"), (6, "better")])
def test_a_verdict_takes_as_many_questions_as_a_sign_test_would(differing: int, verdict: str) -> None:
    found = compared([1.0] * differing, [0.0] * differing)
    assert found.p == pytest.approx(2 / 2**differing)  # 5: .0625, 6: .03125
    assert found.verdict == verdict


def test_holm_multiplies_the_smallest_p_most() -> None:
    four = [Comparison("a", "b", str(p), 0.1, (0, 0.2), p, "better", 9) for p in (0.01, 0.04, 0.03, 0.005)]
    # .005 × 4 = .02; .01 × 3 = .03; .03 × 2 = .06; .04 × 1 = .04, but no less than .06
    corrected = holm(four)
    assert [one.p for one in corrected] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [one.verdict for one in corrected] == ["better", "noise", "noise", "better"]
    assert [one.metric for one in corrected] == [one.metric for one in four]


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [1.0, 0.0])])
def test_what_cannot_be_paired_is_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(DatasetError, match="hit@3"):
        compared(ours, theirs)
