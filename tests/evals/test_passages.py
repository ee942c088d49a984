"""The answer in the first passages: ranks, shares and words by hand."""

from __future__ import annotations

import pytest

from evals.datasets import Question, Span
from evals.passages import first_with_gold, variant
from pipeline.answer import Answerability, Retrieval
from tests.pipeline.passages import make_passage

ASKED = Question(_id="q", text="What hums?", answers=(Span(text="the fan hums", source="fan.md"),))


def found(*texts: str) -> Retrieval:
    passages = tuple(make_passage(f"s{rank}", text=text) for rank, text in enumerate(texts))
    return Retrieval("What hums?", passages, Answerability(1.0, 0.5))


@pytest.mark.parametrize(
    ("texts", "rank"), [(("It is.", "The fan  hums."), 2), (("It is.",), None), ((), None)]
)
def test_the_rank_of_the_answer(texts: tuple[str, ...], rank: int | None) -> None:
    assert first_with_gold(ASKED, found(*texts)) == rank


def test_the_shares_of_one_way_to_search() -> None:
    way = variant("sections", [ASKED, ASKED], [found("The fan hums."), found("It is.", "The fan hums.")])
    assert [way.shares[1], way.shares[2], way.words[1], way.words[3]] == [0.5, 1.0, 2.5, 4]
