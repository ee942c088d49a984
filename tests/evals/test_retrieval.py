"""Ranking an evaluation's questions: names and means."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena import open_athena
from athena.settings import Settings
from evals.datasets import HistoryTurn, Question
from evals.retrieval import evaluate_retrieval, scores_of, search_after_history
from pipeline.answer import Answerability, Retrieval
from pipeline.errors import DatasetError
from tests.pipeline.passages import make_passage


def test_a_question_with_a_history_is_also_asked_with_the_last_one() -> None:
    asked: list[str] = []

    def search(question: str) -> Retrieval:
        asked.append(question)
        return Retrieval(question, (make_passage("s2", score=0.75),), Answerability(1.0, 0.5))

    earlier = (HistoryTurn(role="user", text="What does the fan do?"),)
    search_after_history(Question(_id="q1", text="Fan?"), search=search)
    search_after_history(Question(_id="q2", text="Is it loud?", history=earlier), search=search)
    assert asked == ["Fan?", "Is it loud?", "What does the fan do: Is it loud?"]


def test_only_judged_questions_are_asked(beir: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    for name in ("queries.jsonl", "corpus.jsonl"):
        (tmp_path / name).write_bytes((beir / name).read_bytes())
    (tmp_path / "qrels" / "test.tsv").write_text("q9\td1\t1\n", encoding="utf-8")
    with (
        open_athena(Settings(data_dir=tmp_path / "data", llm="none")) as athena,
        pytest.raises(DatasetError, match="is judged"),
    ):
        evaluate_retrieval(athena, tmp_path)


def test_the_scores_of_a_ranking_by_hand() -> None:
    # nDCG: the one relevant document at rank 2: 1 / log2(3) = .6309
    found = scores_of(["d2", "d1"], {"d1": 1})
    assert found["nDCG@10"] == pytest.approx(0.63093, abs=1e-5)
    assert (found["Recall@5"], found["MRR@10"]) == (1, 0.5)
    # rank 1 of two relevant ones: 1 / (1 + .6309) = .6131
    found = scores_of(["d2", "x", "d3"], {"d2": 1, "d9": 1})
    assert found["nDCG@10"] == pytest.approx(0.61315, abs=1e-5)
    assert (found["Recall@100"], found["MRR@10"]) == (0.5, 1)
    assert set(scores_of([], {"d1": 1}).values()) == {0}
