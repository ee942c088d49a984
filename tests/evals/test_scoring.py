"""Hits, ranks and gains of passages over gold spans, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evals.datasets import Question, Span
from evals.judging import Heard
from evals.metrics import ndcg_of_gains
from evals.scoring import holds_half, ranking_scores, scores_of
from pipeline.answer import Passage
from tests.pipeline.passages import make_passage

WHOLE = make_passage("s1", merged=True, sentences=[(0, "0123456789", 1.0)])  # of "fan.md": 0 to 100
PARTS = make_passage("s2", sentences=[(2, "0123456789", 1.0), (5, "01234", 0.5)])  # 20 to 30, 50 to 55


def gold(start: int, end: int, source: str = "fan.md") -> Span:
    return Span(source=source, start=start, end=end)


@pytest.mark.parametrize(
    ("passage", "span", "held"),
    [
        (WHOLE, gold(90, 110), True),  # 10 of 20
        (WHOLE, gold(91, 111), False),  # 9 of 20
        (WHOLE, gold(0, 10, "other.md"), False),
        (PARTS, gold(20, 40), True),  # 10 of 20, though its section has all of it
        (PARTS, gold(25, 55), False),  # 5 + 5 of 30
        (PARTS, Span(text="said"), False),
    ],
)
def test_half_of_a_span_is_a_hit(passage: Passage, span: Span, held: bool) -> None:
    assert holds_half(passage, span) is held


def test_the_scores_of_a_ranking() -> None:
    golds = [gold(20, 30), gold(92, 100)]
    # ranks: PARTS has the first, again PARTS nothing new, WHOLE the second
    scores = ranking_scores([PARTS, PARTS, WHOLE], golds)
    # DCG 1 / log2(2) + 1 / log2(4) = 1.5; the best 1 + 1 / log2(3) = 1.63093
    assert scores == {"hit@3": 1.0, "MRR": 1.0, "nDCG@10": pytest.approx(1.5 / 1.63093, abs=1e-5)}
    far = [make_passage("a"), make_passage("b"), make_passage("c"), WHOLE]
    elsewhere = [gold(92, 100, "moved.md")]
    assert ranking_scores(far, elsewhere) == {"hit@3": 0.0, "MRR": 0.0, "nDCG@10": 0.0}
    crumbs = [PARTS, PARTS, PARTS, WHOLE]
    assert ranking_scores(crumbs, [gold(92, 100)]) == {
        "hit@3": 0.0,
        "MRR": 0.25,
        "nDCG@10": pytest.approx(0.430677, abs=1e-5),  # 1 / log2(5)
    }


def test_more_than_one_at_a_rank_is_no_better_than_the_best_order() -> None:
    assert ndcg_of_gains([2], 2, 10) == 1.0
    assert ndcg_of_gains([0, 1], 1, 10) == pytest.approx(0.63093)
    assert ndcg_of_gains([1], 0, 10) == 0.0
    assert ndcg_of_gains([0] * 10 + [1], 1, 10) == 0.0


@pytest.mark.parametrize(("known", "expected"), [(True, {"abstained_rightly": 0.0}), (False, {})])
def test_abstaining_counts_only_where_the_data_say_what_is_right(
    known: bool, expected: dict[str, float]
) -> None:
    retrieval: Any = SimpleNamespace(passages=())
    heard = Heard(retrieval, (), "not in the documents")
    scores = scores_of(Question(_id="q", text="?"), heard, lambda *_: 0.0, known=known)
    assert scores == expected
