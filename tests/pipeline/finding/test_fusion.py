"""Fusion by relative score: hand arithmetic, a naive oracle, and properties."""

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
from pipeline.stores.base import Hit, SearchResponse


def shares_of(bm25: float, dense: float) -> SearchOptions:
    return SearchOptions(bm25_section_share=bm25, dense_section_share=dense)


EQUAL = dict.fromkeys(LISTS, 0.25)

sections = st.sampled_from(["a", "b", "c", "d", "e"])
scores = st.integers(-50, 50).map(lambda number: number / 4)
hits = st.builds(
    lambda section, position, score: Hit(f"{section}{position}", section, score),
    sections,
    st.integers(0, 3),
    scores,
)
rankings = st.lists(hits, max_size=12, unique_by=lambda hit: hit.node_id).map(
    lambda found: tuple(sorted(found, key=lambda hit: -hit.score))
)
responses = st.builds(SearchResponse, rankings, rankings, rankings, rankings)
shares = st.integers(0, 8).map(lambda number: number / 8)
weights = st.builds(
    lambda alpha, bm25, dense: list_weights(shares_of(bm25, dense), alpha=alpha),
    shares,
    shares,
    shares,
)


def hit(node_id: str, score: float) -> Hit:
    return Hit(node_id, node_id[0], score)


def test_weights_by_hand() -> None:
    assert list_weights(shares_of(0.8, 0.5), alpha=0.25) == pytest.approx(
        {"bm25_sections": 0.6, "bm25_sentences": 0.15, "dense_sections": 0.125, "dense_sentences": 0.125}
    )


def test_words_weigh_more_the_fewer_documents_the_embedding_model_was_made_for() -> None:
    english = frozenset({"en"})
    assert (
        alpha_for(0.6, {"en": 3}, english) == alpha_for(0.6, {"de": 3}, None) == alpha_for(0.6, {}, english)
    )
    assert alpha_for(0.6, {"de": 5}, english) == pytest.approx(FOREIGN_ALPHA)
    assert alpha_for(0.6, {"en": 1, "de": 2, "ja": 1}, english) == pytest.approx(
        0.6 - 0.75 * (0.6 - FOREIGN_ALPHA)
    )
    assert alpha_for(0.1, {"de": 5}, english) == 0.1


def test_relative_scores_by_hand() -> None:
    assert relative_scores({"a": 2.0, "b": 6.0, "c": 3.0}) == {"a": 0.0, "b": 1.0, "c": 0.25}
    assert relative_scores({"a": -2.0, "b": 0.0, "c": -1.0}) == {"a": 0.0, "b": 1.0, "c": 0.5}
    assert relative_scores({"a": 0.3, "b": 0.3}) == {"a": 1.0, "b": 1.0}
    assert relative_scores({"a": 7.0}) == {"a": 1.0}
    assert relative_scores({}) == {}


def test_fusing_by_hand() -> None:
    response = SearchResponse(
        bm25_sections=(Hit("a", "a", 10.0), Hit("b", "b", 4.0), Hit("c", "c", 2.0)),
        bm25_sentences=(hit("b1", 8.0), hit("b0", 6.0), hit("a0", 4.0), hit("c0", 4.0)),
        dense_sections=(),
        dense_sentences=(hit("c2", 0.9), hit("a0", 0.5)),
    )
    fused = fuse_sections(
        response,
        weights={"bm25_sections": 0.4, "bm25_sentences": 0.2, "dense_sections": 0.1, "dense_sentences": 0.3},
    )
    # a: 1 * .4 + 0 * .2 + 0 * .3; b: (4 - 2) / 8 * .4 + 1 * .2; c: 0 * .4 + 0 * .2 + 1 * .3
    assert [(item.id, item.score) for item in fused] == [
        ("a", pytest.approx(0.4)),
        ("b", pytest.approx(0.3)),
        ("c", pytest.approx(0.3)),
    ]
    assert fused[1].contributions == pytest.approx({"bm25_sections": 0.1, "bm25_sentences": 0.2})
    assert fused[2].contributions == pytest.approx(
        {"bm25_sections": 0, "bm25_sentences": 0, "dense_sentences": 0.3}
    )


def test_sentences_keep_their_own_scores() -> None:
    response = SearchResponse(
        bm25_sections=(Hit("z", "z", 99.0),),
        bm25_sentences=(hit("a0", 4.0), hit("a1", 2.0)),
        dense_sections=(),
        dense_sentences=(hit("a1", 0.8), hit("b0", 0.4)),
    )
    assert sentence_scores(response, weights=EQUAL) == {"a": {"a0": 0.25, "a1": 0.25}, "b": {"b0": 0.0}}


def oracle(response: SearchResponse, given_weights: dict[str, float]) -> dict[str, Fraction]:
    """The definition, a section at a time, in exact numbers."""
    totals: dict[str, Fraction] = {}
    for name in LISTS:
        if not given_weights[name]:
            continue
        ranking = getattr(response, name)
        best = {
            section: max(Fraction(other.score) for other in ranking if other.section_id == section)
            for section in {item.section_id for item in ranking}
        }
        for section, score in best.items():
            spread = max(best.values()) - min(best.values())
            relative = (score - min(best.values())) / spread if spread else Fraction(1)
            totals[section] = totals.get(section, Fraction()) + Fraction(given_weights[name]) * relative
    return totals


@given(responses, weights)
def test_it_is_what_the_definition_says(response: SearchResponse, given_weights: dict[str, float]) -> None:
    fused = fuse_sections(response, weights=given_weights)
    expected = oracle(response, given_weights)
    assert {item.id: item.score for item in fused} == {
        section: pytest.approx(float(score)) for section, score in expected.items()
    }
    assert [item.id for item in fused] == [
        item.id for item in sorted(fused, key=lambda item: (-item.score, item.id))
    ]
