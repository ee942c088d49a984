"""Rerank: how the two scores are joined, and the text that the cross-encoder reads."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import pytest

from pipeline.answer import Passage
from pipeline.finding.passages import LEAD_WORDS, WINDOW_WORDS, best_window
from pipeline.finding.reranking import READ_PASSAGES, rerank
from pipeline.steps.records import Step
from tests.fakes import FakeCrossEncoder
from tests.pipeline.passages import ids, make_passage

THREE = [make_passage("a", score=0.9), make_passage("b", score=0.81), make_passage("c", score=0.4)]


def run(passages: Sequence[Passage], logits: Sequence[float]) -> list[Passage]:
    model = FakeCrossEncoder(list(logits))
    return rerank(Step("rerank"), "Why?", [*passages], model, threading.Event())


def test_scores_by_hand() -> None:
    reranked = run(THREE, [-2.0, -1.0, 2.0])
    # a: .8 * .9 + 0; b: .8 * .81 + .2 / 4; c: .8 * .4 + .2
    assert [passage.score for passage in reranked] == pytest.approx([0.72, 0.698, 0.52])
    assert (ids(reranked), ids(run(THREE, [-2.0, 2.0, 0.0]))) == (["a", "b", "c"], ["b", "a", "c"])
    assert reranked[2].rerank_score == pytest.approx(1 / (1 + math.exp(-2)))
    sure = [make_passage("a", score=0.9), make_passage("b", score=0.6)]  # a third of the weight
    assert [passage.score for passage in run(sure, [-2.0, 2.0])] == pytest.approx([0.84, 0.6267], abs=1e-4)


def test_unread_passages_stay_behind_with_a_score_of_at_most_that_of_the_read_ones() -> None:
    passages = [make_passage(f"p{number}", score=0.9) for number in range(READ_PASSAGES + 1)]
    *read, last = run(passages, [0.0, -9.0, 1.0, 2.0, 3.0])
    assert [(ids(read)[0], ids(read)[-1]), ids([last])] == [("p4", "p1"), ["p5"]]
    assert (last.score, last.rerank_score) == (read[-1].score, None)


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
