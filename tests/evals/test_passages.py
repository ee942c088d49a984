"""The answer in the first passages: ranks, shares and words by hand."""

from __future__ import annotations

import pytest

from evals.datasets import Question, Span
from evals.indexing import Indexed
from evals.passages import evaluate, first_with_gold
from pipeline.answer import Answerability, Retrieval
from pipeline.options import RetrievalOptions
from tests.pipeline.passages import make_passage

ASKED = Question(_id="q", text="What hums?", answers=(Span(text="the fan hums", source="fan.md"),))
OFF = Question(_id="no", text="Who?", answerable=False)


def found(*texts: str) -> Retrieval:
    passages = tuple(make_passage(f"s{rank}", text=text) for rank, text in enumerate(texts))
    return Retrieval("What hums?", passages, Answerability(1.0, 0.5))


@pytest.mark.parametrize(
    ("texts", "rank"), [(("It is.", "The fan  hums."), 2), (("It is.",), None), ((), None)]
)
def test_the_rank_of_the_answer(texts: tuple[str, ...], rank: int | None) -> None:
    assert first_with_gold(ASKED, found(*texts)) == rank


def test_each_way_is_asked_with_its_switches() -> None:
    def search(question: str, options: RetrievalOptions) -> Retrieval:
        return found("The fan hums.") if options.merge_up else found("It is.", "The fan hums.")

    report = evaluate(
        [ASKED, OFF],
        search=search,
        options=RetrievalOptions(),
        dataset="fans",
        indexed=Indexed({}, 1, 2, 0.1),
    )
    assert report.questions == 1
    assert [(way.name, way.shares[1], way.shares[2], way.words[3]) for way in report.variants] == [
        ("sections", 0.0, 1.0, 5),
        ("merged up", 1.0, 1.0, 3),
    ]
