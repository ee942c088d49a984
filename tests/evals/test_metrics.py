"""Metrics against hand arithmetic and against the textbook's formulas, written anew."""

from __future__ import annotations

import pytest

from evals.metrics import auroc, bootstrap, ndcg_at, percentile, recall_at, reciprocal_rank_at


def test_ndcg_by_hand() -> None:
    relevant = {"a": 3, "b": 2, "c": 1}
    # b 2 / log2(2) + x 0 + a 3 / log2(4) = 3.5; best: 3 + 2 / log2(3) + 1 / 2 = 4.76186
    assert ndcg_at(["b", "x", "a"], relevant, 10) == pytest.approx(3.5 / 4.761859507)
    # at 2: 2 of 3 + 2 / log2(3)
    assert ndcg_at(["b", "x", "a"], relevant, 2) == pytest.approx(2 / 4.261859507)


def test_recall_by_hand() -> None:
    relevant = {"a": 1, "b": 1, "c": 2, "z": 1}
    assert recall_at(["a", "x", "c", "b"], relevant, 3) == 0.5
    assert recall_at(["a", "x", "c", "b"], relevant, 4) == 0.75
    assert recall_at(["x"], relevant, 10) == 0
    assert recall_at(["a"], {}, 10) == 0


def test_reciprocal_rank_by_hand() -> None:
    assert reciprocal_rank_at(["x", "y", "a", "b"], {"a", "b"}, 10) == pytest.approx(1 / 3)
    assert reciprocal_rank_at(["x", "y", "a"], {"a"}, 2) == 0
    assert reciprocal_rank_at(["a"], {"a"}, 10) == 1
    assert reciprocal_rank_at([], {"a"}, 10) == 0


def test_auroc_by_hand() -> None:
    assert auroc([0.9, 0.8, 0.1], [True, True, False]) == 1
    assert auroc([0.9, 0.8, 0.1], [False, False, True]) == 0
    assert auroc([0.5, 0.5], [True, False]) == 0.5
    # pairs: .9 over .5, .5 level with .5, .9 over .7, .5 under .7: 2.5 of 4
    assert auroc([0.9, 0.5, 0.5, 0.7], [True, True, False, False]) == pytest.approx(0.625)


def test_percentiles_by_hand() -> None:
    values = [30.0, 10.0, 20.0, 40.0]
    assert [percentile(values, share) for share in (0.25, 0.5, 0.51, 0.95, 1.0, 0.0)] == [
        10,
        20,
        30,
        40,
        40,
        10,
    ]
    assert percentile([7.0], 0.95) == 7
    assert percentile([], 0.5) == 0


def test_the_bootstrap_is_seeded_and_has_the_width_of_the_normal_interval() -> None:
    values = [0.0, 1.0] * 50
    interval = bootstrap(values)
    assert interval == bootstrap(values)
    # standard error of the mean: .5 / √100 = .05; ± 1.96 × .05 = ± .098
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.5, 0.402, 0.598), abs=0.012)
