"""Rerank: how the two scores are joined, and what the cross-encoder gets to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Passage
from pipeline.finding.reranking import WINDOW_WORDS, best_window, rerank, with_headings
from tests.fakes import FakeCrossEncoder
from tests.pipeline.passages import ids, make_passage


def run(
    passages: Sequence[Passage], logits: Sequence[float], *, top_n: int = 20, weight: float
) -> list[Passage]:
    return rerank("Why?", passages, cross_encoder=FakeCrossEncoder(list(logits)), top_n=top_n, weight=weight)


THREE = [make_passage("a", score=0.9), make_passage("b", score=0.81), make_passage("c", score=0.4)]


def test_scores_by_hand() -> None:
    reranked = run(THREE, [-2.0, -1.0, 2.0], weight=0.2)
    # a: .72 + 0; b: .648 + .2 / 4; c: .32 + .2
    assert ids(reranked) == ["a", "b", "c"]
    assert [passage.score for passage in reranked] == pytest.approx([0.72, 0.698, 0.52])
    reranked = run(THREE, [-2.0, -1.0, 2.0], weight=0.5)
    # a: .45 + 0; b: .405 + .5 / 4; c: .2 + .5
    assert ids(reranked) == ["c", "b", "a"]
    assert [passage.score for passage in reranked] == pytest.approx([0.7, 0.53, 0.45])
    assert [passage.rerank_score for passage in reranked] == pytest.approx(
        [1 / (1 + math.exp(-value)) for value in (2, -1, -2)]
    )


def test_where_the_first_stage_is_sure_the_cross_encoder_has_a_third_of_its_weight() -> None:
    sure = [make_passage("a", score=0.9), make_passage("b", score=0.7)]
    reranked = run(sure, [-2.0, 2.0], weight=0.6)
    assert [passage.score for passage in reranked] == pytest.approx([0.72, 0.76][::-1])


def test_equal_scores_are_ordered_by_id() -> None:
    equal = [make_passage(name, score=0.5) for name in ("q", "a", "x")]
    assert ids(run(equal, [0.0, 0.0, 0.0], weight=0.5)) == ["a", "q", "x"]


def test_weight_0_keeps_the_order_and_weight_1_obeys_the_cross_encoder() -> None:
    logits = [-3.0, 0.0, 3.0]
    kept = run(THREE, logits, weight=0.0)
    assert [(passage.section.node_id, passage.score) for passage in kept] == [
        ("a", 0.9),
        ("b", 0.81),
        ("c", 0.4),
    ]
    obeyed = run(THREE, logits, weight=1.0)
    assert ids(obeyed) == ["c", "b", "a"]
    assert [passage.score for passage in obeyed] == pytest.approx([1.0, 0.5, 0.0])


def test_what_was_not_read_stays_behind() -> None:
    reranked = run(THREE, [-9.0, 1.0], top_n=2, weight=1.0)
    assert ids(reranked) == ["b", "a", "c"]
    assert reranked[2].rerank_score is None
    assert reranked[2].score == reranked[1].score == 0


def test_only_the_head_is_read_in_its_order() -> None:
    cross_encoder = FakeCrossEncoder([1.0, 2.0])
    rerank("Why?", THREE, cross_encoder=cross_encoder, top_n=2, weight=0.5)
    assert cross_encoder.calls == [("Why?", ["Manual > Fan\n\nText of a.", "Manual > Fan\n\nText of b."])]


def test_nothing_to_rerank_asks_nobody() -> None:
    cross_encoder = FakeCrossEncoder([])
    assert rerank("Why?", [], cross_encoder=cross_encoder, top_n=20, weight=0.5) == []
    assert cross_encoder.calls == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-80, 80)), min_size=1, max_size=12),
    st.integers(1, 12),
    st.floats(0, 1),
)
def test_scores_fall_and_nothing_is_lost(
    given_scores: list[tuple[float, float]], top_n: int, weight: float
) -> None:
    ordered = sorted((score for score, _ in given_scores), reverse=True)
    passages = [make_passage(f"p{number:02}", score=score) for number, score in enumerate(ordered)]
    logits = [value for _, value in given_scores][:top_n]
    reranked = run(passages, logits, top_n=top_n, weight=weight)
    assert sorted(ids(reranked)) == sorted(ids(passages))
    values = [passage.score for passage in reranked]
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)
    assert set(ids(reranked)[: len(logits)]) == set(ids(passages)[: len(logits)])


def test_a_window_is_the_text_around_the_best_sentence_under_its_headings() -> None:
    text = "Open it. 1. Press on. " + " ".join(f"Word {number} of many words." for number in range(40))
    (early, late) = (
        best_window(make_passage("a", text=text, sentences=[(place, "found", 0.9), (0, "less", 0.3)]))
        for place in (0, 60)
    )
    assert early.startswith("Manual > Fan\n\nOpen it. 1. Press on. Word 0")
    assert len(early.split()) - 3 <= WINDOW_WORDS
    assert not late.startswith("Manual > Fan\n\nOpen it.")
    assert text[600:620] in late


def test_a_row_is_read_under_its_header_and_a_short_section_whole() -> None:
    passage = make_passage("a", text="All of it.", sentences=[(0, "All", 1.0)])
    assert best_window(passage) == "Manual > Fan\n\nAll of it."
    row = passage.sentences[0].node
    headed = replace(row, metadata={**row.metadata, "header": "| Part |"})
    assert with_headings(headed, "| fan |") == "Manual > Fan\n\n| Part |\n| fan |"
