"""Feedback on answers, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evals.datasets import Question
from evals.feedback import (
    CANNOT_SEE,
    MEANINGS,
    Asked,
    abstained_rightly,
    answer_correct,
    answer_relevance,
    feedback_on,
    groundedness,
    until_answered,
    until_found,
)
from pipeline.answer import Answer, Answerability, Citation, Retrieval, Support
from pipeline.errors import ModelError
from pipeline.steps.events import AnswerFinished, RunFailed, SourcesFound, StepStarted
from tests.fakes import FakeEncoder

TEXTS = {"fan.md": "# Fan\n\nIt hums. A broken fan shows OFFLINE.\n"}
FOUND = Retrieval("What shows a broken fan?", (), Answerability(0.75, 0.25))


class AngleEncoder(FakeEncoder):
    """A question is the x axis; a passage stands at the angle that is given for its text."""

    def __init__(self, degrees: dict[str, float]) -> None:
        super().__init__(dimensions=2)
        self._degrees = degrees

    def encode_query(self, text: str) -> NDArray[np.float32]:
        return np.array([1, 0], dtype=np.float32)

    def encode_passages(self, texts: Sequence[str], **_: Any) -> NDArray[np.float32]:
        angles = [math.radians(self._degrees[text]) for text in texts]
        return np.array([[math.cos(angle), math.sin(angle)] for angle in angles], dtype=np.float32)


def cited(quote: str, *, start: int | None = None) -> Citation:
    begin = TEXTS["fan.md"].index(quote) if start is None else start
    return Citation(
        1, "fan.md", ("Fan",), begin, begin + len(quote), 1, 1, quote, True, "s", "h", "q", TEXTS["fan.md"], 0
    )


def answered(*citations: Citation, **given: Any) -> Answer:
    known: dict[str, Any] = {"text": "It is off.", "mode": "quote", "model": "", "abstained": False}
    return Answer("?", "What shows a broken fan?", citations=citations, **(known | given))


def supports(*supported: bool) -> tuple[Support, ...]:
    return tuple(Support(0, 1, (1,), supported=value, score=0.5) for value in supported)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (answered(cited("It hums.")), 1),
        (answered(cited("It hums."), cited("A broken fan shows OFFLINE.")), 1),
        (answered(cited("It hums."), cited("It hums.", start=8)), 0),
        (answered(cited("It sings.", start=7)), 0),
        (answered(), 0),
        (answered(cited("It hums."), abstained=True), None),
        (answered(mode="generate", support=supports(True, False, True, True)), 0.75),
        (answered(mode="generate", support=supports(False)), 0),
        (answered(mode="generate"), None),
    ],
)
def test_groundedness(answer: Answer, expected: float | None) -> None:
    assert groundedness(answer, text_of=TEXTS.__getitem__) == expected


@pytest.mark.parametrize(("degrees", "expected"), [(0, 1), (60, 0.5), (90, 0), (120, 0)])
def test_the_relevance_of_an_answer_is_a_cosine_not_below_0(degrees: float, expected: float) -> None:
    encoder = AngleEncoder({"It is off.": degrees})
    answer = answered(cited("It hums."), text="It is off. [1]", mode="generate")
    assert answer_relevance(answer, encoder=encoder) == pytest.approx(expected, abs=1e-6)


def test_of_quotes_their_text_is_compared_and_not_the_headings_above() -> None:
    encoder = AngleEncoder({"It hums.\nA broken fan shows OFFLINE.": 60})
    answer = answered(
        cited("It hums."), cited("A broken fan shows OFFLINE."), text="**Fan**\n\n> It hums. [1]"
    )
    assert answer_relevance(answer, encoder=encoder) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "answer", [answered(), answered(abstained=True), answered(mode="generate", text=" ")]
)
def test_nothing_said_has_no_relevance(answer: Answer) -> None:
    assert answer_relevance(answer, encoder=AngleEncoder({})) is None


@pytest.mark.parametrize(
    ("query", "quotes", "expected"),
    [
        ({"answer": "offline"}, ["It hums.", "A broken fan shows OFFLINE."], True),
        ({"answer": "offline"}, ["It hums."], False),
        ({"answer": "offline"}, [], False),
        ({}, ["It hums."], None),
        ({"answer": "offline", "answerable": False}, ["It hums."], None),
    ],
)
def test_an_answer_is_correct_if_a_quote_contains_it(
    query: dict[str, Any], quotes: list[str], expected: bool | None
) -> None:
    answer = answered(*map(cited, quotes))
    assert answer_correct(Question(_id="q", text="?", **query), answer) is expected


@pytest.mark.parametrize(
    ("query", "abstained", "expected"),
    [
        ({"answerable": False}, True, True),
        ({"answerable": False}, False, False),
        ({"answerable": True}, True, False),
        ({"answer": "off"}, False, True),
        ({"answer": "off"}, True, False),
        ({}, True, None),
        ({}, False, None),
    ],
)
def test_abstaining(query: dict[str, Any], abstained: bool, expected: bool | None) -> None:
    assert abstained_rightly(Question(_id="q", text="?", **query), answered(abstained=abstained)) is expected


def test_all_of_them_by_name_and_only_those_with_data() -> None:
    encoder = AngleEncoder({"It hums.": 60})
    answer = answered(cited("It hums."))
    query = Question(_id="q", text="?", answer="off")
    assert feedback_on(Asked(query, FOUND, answer), encoder=encoder, text_of=TEXTS.__getitem__) == {
        "Context Relevance": 0.75,
        "Groundedness": 1.0,
        "Answer Relevance": pytest.approx(0.5),
        "Answer Correct": 0.0,
        "Abstained Rightly": 1.0,
    }
    query, answer = Question(_id="q", text="?"), answered(abstained=True)
    found = feedback_on(Asked(query, FOUND, answer), encoder=encoder, text_of=TEXTS.__getitem__)
    assert found == {"Context Relevance": 0.75}


def test_the_page_on_the_server_says_the_same_of_each(request: pytest.FixtureRequest) -> None:
    page = (request.config.rootpath / "docs" / "server.md").read_text(encoding="utf-8")
    for name, meaning in MEANINGS.items():
        assert f"| {name} | {meaning} | {CANNOT_SEE[name]} |" in page


def test_a_run_is_read_in_two_parts() -> None:
    answer = answered(cited("It hums."))
    events = iter(
        [StepStarted("embed", "…"), SourcesFound(FOUND), StepStarted("quote", "…"), AnswerFinished(answer)]
    )
    assert until_found(events) is FOUND
    assert until_answered(events) is answer


@pytest.mark.parametrize("read", [until_found, until_answered])
def test_a_failed_run_raises_what_it_failed_with(read: Any) -> None:
    error = ModelError("The model is gone.", "Start it.")
    with pytest.raises(ModelError, match="gone"):
        read(iter([StepStarted("embed", "…"), RunFailed("The model is gone.", "Start it.", "", error)]))
