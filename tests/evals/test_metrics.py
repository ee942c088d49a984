"""Metrics against hand arithmetic and against the textbook's formulas, written anew."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import log2

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evals.metrics import auroc, mean, ndcg_at, percentile, recall_at, reciprocal_rank_at

documents = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)
judgements = st.dictionaries(st.sampled_from("abcdefghijkl"), st.integers(1, 3), max_size=8)
cutoffs = st.integers(1, 12)


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


def textbook_ndcg(ranking: Sequence[str], relevant: dict[str, int], k: int) -> float:
    """Over all positions 1..k: rel_i / log2(i + 1), against the same over the sorted judgements."""
    ideal = sorted(relevant.values(), reverse=True) + [0] * k
    dcg = ideal_dcg = 0.0
    for position in range(1, k + 1):
        document = ranking[position - 1] if position <= len(ranking) else ""
        dcg += relevant.get(document, 0) / log2(position + 1)
        ideal_dcg += ideal[position - 1] / log2(position + 1)
    return dcg / ideal_dcg if ideal_dcg else 0.0


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(documents, judgements, cutoffs)
def test_ndcg_is_the_textbooks(ranking: list[str], relevant: dict[str, int], k: int) -> None:
    value = ndcg_at(ranking, relevant, k)
    assert value == pytest.approx(textbook_ndcg(ranking, relevant, k))
    assert 0 <= value <= 1 + 1e-12


def test_auroc_by_hand() -> None:
    assert auroc([0.9, 0.8, 0.1], [True, True, False]) == 1
    assert auroc([0.9, 0.8, 0.1], [False, False, True]) == 0
    assert auroc([0.5, 0.5], [True, False]) == 0.5
    # pairs: .9 over .5, .5 level with .5, .9 over .7, .5 under .7: 2.5 of 4
    assert auroc([0.9, 0.5, 0.5, 0.7], [True, True, False, False]) == pytest.approx(0.625)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_auroc_is_the_share_of_pairs_in_order(rows: list[tuple[int, bool]]) -> None:
    pairs = [
        (high, low)
        for (high, is_positive), (low, other_is_positive) in product(rows, rows)
        if is_positive and not other_is_positive
    ]
    value = auroc([float(score) for score, _ in rows], [is_positive for _, is_positive in rows])
    if not pairs:
        assert value is None
    else:
        wins = sum((Fraction(high > low) + Fraction(high == low, 2) for high, low in pairs), Fraction())
        assert value == pytest.approx(float(wins / len(pairs)))


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


def test_mean() -> None:
    assert mean([1.0, 2.0, 6.0]) == 3
    assert mean([]) == 0
