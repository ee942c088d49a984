"""Rerank: how the two scores are joined, and the text that the cross-encoder reads."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Passage
from pipeline.finding.reranking import LEAD_WORDS, WINDOW_WORDS, best_window, rerank
from pipeline.steps.trace import RunningStep
from tests.fakes import FakeCrossEncoder
from tests.pipeline.passages import ids, make_passage

THREE = [make_passage("a", score=0.9), make_passage("b", score=0.81), make_passage("c", score=0.4)]


def run(
    passages: Sequence[Passage],
    logits: Sequence[float],
    *,
    top_n: int = 20,
    weight: float,
    question: str = "Why?",
) -> list[Passage]:
    step = RunningStep("rerank", data={"top_n": top_n, "weight": weight})
    return rerank(step, question, [*passages], FakeCrossEncoder(list(logits)), threading.Event())


def test_scores_by_hand() -> None:
    reranked = run(THREE, [-2.0, -1.0, 2.0], weight=0.5)
    # a: .45 + 0; b: .405 + .5 / 4; c: .2 + .5
    assert ids(reranked) == ["c", "b", "a"]
    assert [passage.score for passage in reranked] == pytest.approx([0.7, 0.53, 0.45])
    assert reranked[0].rerank_score == pytest.approx(1 / (1 + math.exp(-2)))
    sure = [make_passage("a", score=0.9), make_passage("b", score=0.7)]  # a third of the weight
    assert [passage.score for passage in run(sure, [-2.0, 2.0], weight=0.6)] == pytest.approx([0.76, 0.72])


def test_what_is_not_read_stays_behind_with_its_score_at_most_theirs() -> None:
    found = [(p.section.node_id, p.score, p.rerank_score) for p in run(THREE, [-9.0, 1.0], top_n=2, weight=1)]
    assert [(name, score) for name, score, _ in found] == [("b", 1.0), ("a", 0.0), ("c", 0.0)]
    assert found[2][2] is None


def test_a_section_that_is_named_stays_first() -> None:
    named = make_passage("n", score=0.8, heading_path=("Alarms", "C-112"))
    found = run([named, make_passage("a", score=0.79)], [-9.0, 9.0], weight=1.0, question="C-112?")
    assert ids(found) == ["n", "a"]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-80, 80)), max_size=12), st.integers(1, 12), st.floats(0, 1)
)
def test_scores_fall_and_nothing_is_lost(
    given_scores: list[tuple[float, float]], top_n: int, weight: float
) -> None:
    ordered = sorted((score for score, _ in given_scores), reverse=True)
    passages = [make_passage(f"p{number:02}", score=score) for number, score in enumerate(ordered)]
    reranked = run(passages, [logit for _, logit in given_scores][:top_n], top_n=top_n, weight=weight)
    assert sorted(ids(reranked)) == ids(passages)
    values = [passage.score for passage in reranked]
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)


def test_a_window_is_the_text_around_the_best_sentence_under_its_headings() -> None:
    text = "".join(f"Word {number:03}. " for number in range(100)).strip()  # ten characters a sentence
    begin, middle, end = (
        best_window(make_passage("a", text=text, sentences=[(place, "found", 0.9), (0, "less", 0.3)]))
        for place in (0, 50, 99)
    )
    assert {len(window.split()) - 3 for window in (begin, middle, end)} == {WINDOW_WORDS}
    assert begin.startswith("Manual > Fan\n\nWord 000. Word 001.")
    assert end.endswith("Word 099.")
    assert len(middle.partition("050.")[0].split()) - 3 == LEAD_WORDS + 1  # and the word before its number
    assert best_window(make_passage("a", text="All of it.")) == "Manual > Fan\n\nAll of it."


def test_a_row_is_read_under_its_tables_header() -> None:
    passage = make_passage("a", text="| fan |\n", sentences=[(0, "| fan |", 1.0)])
    row: dict[str, object] = passage.sentences[0].node.metadata  # type: ignore[assignment]
    row["header"] = "| Part |"
    assert best_window(passage) == "Manual > Fan\n\n| Part |\n| fan |"
