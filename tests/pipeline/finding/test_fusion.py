"""Fusion by relative score, and two responses as one: hand arithmetic, a naive oracle, and properties."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.finding.fusion import (
    FOREIGN_ALPHA,
    LISTS,
    alpha_for,
    fuse_sections,
    list_weights,
    relative_scores,
    sentence_scores,
)
from pipeline.options import SearchOptions
from pipeline.stores.base import Hit, Ranking, SearchResponse

scores = st.integers(-50, 50).map(lambda number: number / 4)
hits = st.builds(
    lambda node, score: Hit(node, node[0], score), st.from_regex(r"[a-e][0-3]", fullmatch=True), scores
)
rankings = st.lists(hits, max_size=12, unique_by=lambda found: found.node_id).map(
    lambda found: tuple(sorted(found, key=lambda one: -one.score))
)
responses = st.builds(SearchResponse, rankings, rankings, rankings, rankings)
shares = st.integers(0, 8).map(lambda number: number / 8)


def hit(node_id: str, score: float) -> Hit:
    return Hit(node_id, node_id[0], score)


def weights_of(alpha: float, bm25: float, dense: float) -> dict[str, float]:
    return list_weights(SearchOptions(bm25_section_share=bm25, dense_section_share=dense), alpha=alpha)


def test_weights_by_hand() -> None:
    assert weights_of(0.25, 0.8, 0.5) == pytest.approx(
        {"bm25_sections": 0.6, "bm25_sentences": 0.15, "dense_sections": 0.125, "dense_sentences": 0.125}
    )


@pytest.mark.parametrize(
    ("documents", "alpha"),
    [({"en": 3}, 0.6), ({}, 0.6), ({"de": 5}, FOREIGN_ALPHA), ({"en": 1, "de": 2, "ja": 1}, 0.3)],
)
def test_words_weigh_more_the_fewer_documents_the_embedding_model_was_made_for(
    documents: dict[str, int], alpha: float
) -> None:
    assert alpha_for(0.6, documents, frozenset({"en"})) == pytest.approx(alpha)
    assert alpha_for(0.1, documents, frozenset({"en"})) == 0.1
    assert alpha_for(0.6, documents, None) == 0.6


def test_relative_scores_by_hand() -> None:
    assert relative_scores({"a": -2.0, "b": 2.0, "c": -1.0}) == {"a": 0.0, "b": 1.0, "c": 0.25}
    assert relative_scores({"a": 0.3, "b": 0.3}) == {"a": 1.0, "b": 1.0}
    assert relative_scores({}) == {}


def test_fusing_by_hand() -> None:
    response = SearchResponse(
        bm25_sections=(Hit("a", "a", 10.0), Hit("b", "b", 4.0), Hit("c", "c", 2.0)),
        bm25_sentences=(hit("b1", 8.0), hit("b0", 6.0), hit("a0", 4.0), hit("c0", 4.0)),
        dense_sections=(),
        dense_sentences=(hit("c2", 0.9), hit("a0", 0.5)),
    )
    weights = {"bm25_sections": 0.4, "bm25_sentences": 0.2, "dense_sections": 0.1, "dense_sentences": 0.3}
    fused = fuse_sections(response, weights=weights)
    # a: 1 * .4 + 0 * .2 + 0 * .3; b: (4 - 2) / 8 * .4 + 1 * .2; c: 0 * .4 + 0 * .2 + 1 * .3
    assert [item.id for item in fused] == ["a", "b", "c"]
    assert [item.score for item in fused] == pytest.approx([0.4, 0.3, 0.3])
    assert fused[1].contributions == pytest.approx({"bm25_sections": 0.1, "bm25_sentences": 0.2})
    assert sentence_scores(response, weights=weights) == {
        "a": {"a0": 0.0}, "b": {"b0": 0.1, "b1": 0.2}, "c": {"c0": 0.0, "c2": 0.3}
    }  # fmt: skip


def oracle(response: SearchResponse, weights: dict[str, float]) -> dict[str, Fraction]:
    """The definition, a section at a time, in exact numbers."""
    totals: dict[str, Fraction] = {}
    for name in LISTS:
        best: dict[str, Fraction] = {}
        for found in getattr(response, name) if weights[name] else ():
            best[found.section_id] = max(Fraction(found.score), best.get(found.section_id, Fraction(-99)))
        for section, score in best.items():
            spread = max(best.values()) - min(best.values())
            relative = (score - min(best.values())) / spread if spread else Fraction(1)
            totals[section] = totals.get(section, Fraction()) + Fraction(weights[name]) * relative
    return totals


@given(responses, st.builds(weights_of, shares, shares, shares))
def test_it_is_what_the_definition_says(response: SearchResponse, weights: dict[str, float]) -> None:
    fused = fuse_sections(response, weights=weights)
    expected = {section: pytest.approx(float(score)) for section, score in oracle(response, weights).items()}
    assert {item.id: item.score for item in fused} == expected
    assert fused == sorted(fused, key=lambda item: (-item.score, item.id))


def response_of(bm25: Ranking = (), dense: Ranking = ()) -> SearchResponse:
    return SearchResponse((), bm25, (), dense)
