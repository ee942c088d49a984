"""Fusion by relative score, by hand."""

from __future__ import annotations

import pytest

from pipeline.finding.fusion import (
    FOREIGN_ALPHA,
    alpha_for,
    fuse_sections,
    list_weights,
    relative_scores,
    sentence_scores,
)
from pipeline.stores.base import Hit, SearchResponse


def hit(node_id: str, score: float) -> Hit:
    return Hit(node_id, node_id[0], score)


def test_weights_by_hand() -> None:
    assert list_weights(0.2) == pytest.approx(
        {"bm25_sections": 0.6, "bm25_sentences": 0.2, "dense_sections": 0.075, "dense_sentences": 0.125}
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
        dense_sections=(Hit("a", "a", 0.7), Hit("b", "b", 0.3)),
        dense_sentences=(hit("c2", 0.9), hit("a0", 0.5)),
    )
    weights = {"bm25_sections": 0.4, "bm25_sentences": 0.2, "dense_sections": 0.1, "dense_sentences": 0.3}
    fused = fuse_sections(response, weights=weights)
    # Among the dense sections, c2 stands for c with .9 - .03, and a has its own .7.
    # a: 1 * .4 + 0 * .2 + .4 / .57 * .1 + 0 * .3; b: (4 - 2) / 8 * .4 + 1 * .2 + 0; c: 1 * .1 + 1 * .3
    assert [item.id for item in fused] == ["a", "c", "b"]
    assert [item.score for item in fused] == pytest.approx([0.4 + 0.04 / 0.57, 0.4, 0.3])
    assert sentence_scores(response, weights=weights) == {
        "a": {"a0": 0.0}, "b": {"b0": 0.1, "b1": 0.2}, "c": {"c0": 0.0, "c2": 0.3}
    }  # fmt: skip
