"""Judging quotes and abstaining, by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from athena import open_athena
from athena.settings import Settings
from evals.answers import AnswersReport, failures_of, report_on
from evals.datasets import Question
from evals.indexing import Indexed
from evals.judging import Heard, Judged, Shown, contains, hear, judge
from evals.written import has_fact
from pipeline.answer import Answerability, Retrieval, Verdict

OF_QUOTES = ("section", "in_3_passages", "in_8_passages", "marked", "parts", "alone", "topic_changed")
UNKNOWN = dict.fromkeys((*OF_QUOTES, "groundedness", "answer_right", "similarity", "first_quote_relevant"))
INDEXED = Indexed({}, documents=2, sentences=5, seconds=1.5)


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("The fan shows OFFLINE.", "offline", True),
        ("The **fan** shows\n  `OFFLINE`.", "fan  shows\nOFFLINE ", True),
        ("The fan shows NOMINAL.", "OFFLINE", False),
        ("", "OFFLINE", False),
        ("STRASSE", "straße", True),
    ],
)
def test_marks_case_and_white_space_do_not_count(text: str, answer: str, expected: bool) -> None:
    assert contains(text, answer) is expected


def test_an_answer_has_the_fact_with_all_expressions_of_one_list() -> None:
    query = Question(_id="q", text="?", fact=(("rpm",), ("set a", r"\b15 min")))
    assert [has_fact(text, query) for text in ("`SET A`, 15 min. [1]", "Set A.")] == [True, False]


def judged_by(query: Question, quotes: Sequence[Shown] = (), *, probability: float = 0.6) -> Judged:
    return judge(query, Heard(Retrieval("?", (), Answerability(probability, 0.5)), quotes), 1.0)


@pytest.mark.parametrize(
    ("quotes", "first", "anywhere"),
    [(["It hums.", "It is OFF."], False, True), (["It is OFF.", "It hums."], True, True), ([], False, False)],
)
def test_quotes_of_an_answerable_question(quotes: list[str], first: bool, anywhere: bool) -> None:
    judged = judged_by(Question(_id="q", text="?", answer="is off"), list(map(Shown, quotes)))
    assert (judged.first, judged.any) == (first, anywhere)


def test_what_somebody_said_over_the_same_index_answers_no_evaluation(tmp_path: Path) -> None:
    (tmp_path / "lockers.md").write_text("# Lockers\n\nEach of the crew has a locker.\n", encoding="utf-8")
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none")) as athena:
        athena.ingest([tmp_path / "lockers.md"])
        athena.ask("my locker is 34")
        assert athena.ask("which locker is mine").mode == "memory"
        answer = hear(athena, Question(_id="q", text="which locker is mine")).answer
        assert answer and answer.mode == "quote"


def judged(
    query_id: str,
    probability: float,
    *,
    answerable: bool = True,
    quotes: tuple[bool, bool] | None = None,
    kind: str = "",
) -> Judged:
    first, anywhere = quotes or (None, None)
    verdict: Verdict = "answered" if probability >= 0.6 else "closest"
    if probability < 0.5:
        verdict = "not in the documents"
    ms = probability * 100
    return Judged(
        query_id, answerable, probability, verdict, first, first, anywhere, words=9, ms=ms, kind=kind
    )


def report(*judgements: Judged) -> AnswersReport:
    return report_on(judgements, dataset="lunar", threshold=0.5, indexed=INDEXED, settings={"alpha": 0.5})


def test_a_span_counts_in_its_own_document_only() -> None:
    query = Question(_id="q", text="?", answers=[{"text": "power on", "source": "fan.md"}])
    for source, expected in (("fan.md", True), ("pump.md", False)):
        assert judged_by(query, [Shown("`power on` it", source)], probability=0.6).first is expected


@pytest.mark.parametrize(
    ("marked", "expected"), [("The fan is OFF.", True), ("is off", True), ("It hums.", False), ("", None)]
)
def test_what_is_marked_in_the_first_quote(marked: str, expected: bool | None) -> None:
    query = Question(_id="q", text="?", answer="fan is off")
    assert judged_by(query, [Shown("It hums. The fan is OFF.", marked=marked)]).marked is expected


@pytest.mark.parametrize(("quotes", "expected"), [(["hums", "leaks"], True), (["hums"], False)])
def test_each_part_wants_its_own_answer(quotes: list[str], expected: bool) -> None:
    parts = [{"text": "fan", "answers": [{"text": "hums"}]}, {"text": "pump", "answers": [{"text": "leaks"}]}]
    query = Question(_id="q", text="fan? pump?", parts=parts)
    assert judged_by(query, list(map(Shown, quotes))).parts is expected


def test_a_changed_topic_is_compared_with_the_question_alone() -> None:
    changed = [
        replace(judged(name, 0.9, kind="alone"), rank=rank, alone=alone)
        for name, rank, alone in (("a", 1, True), ("b", 4, True), ("c", math.inf, False))
    ]
    found = report(*changed, judged("d", 0.9, kind="define"))
    assert found.metrics["topic_changed"] == pytest.approx(1 / 2)
    ranks = [found.metrics[name] for name in ("section", "in_3_passages", "in_8_passages")]
    assert ranks == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    assert found.by_kind["alone"]["alone"] == pytest.approx(2 / 3)
    assert found.by_kind["define"]["alone"] is None


def test_what_is_folded_counts_for_itself() -> None:
    query = Question(_id="q", text="?", answer="off", kind="why")
    found = judged_by(query, [Shown("It hums loudly."), Shown("It is off.", folded=True)], probability=0.6)
    assert (found.first, found.unfolded, found.any, found.words) == (False, False, True, 3)
    assert found.kind == "why"


def test_three_verdicts_by_kind() -> None:
    found = report(
        judged("a1", 0.9), judged("a2", 0.55), judged("a3", 0.1),
        judged("n1", 0.55, answerable=False, kind="near"), judged("n2", 0.9, answerable=False, kind="near"),
        judged("f1", 0.1, answerable=False, kind="far"),
    ).metrics  # fmt: skip
    assert found["answerable_refused"] == pytest.approx(1 / 3)
    assert found["answerable_closest"] == pytest.approx(1 / 3)
    assert found["near_answered"] == pytest.approx(1 / 2)
    assert found["far_refused"] == 1


def test_the_report_by_hand() -> None:
    found = report(
        judged("a1", 0.9, quotes=(True, True)),
        judged("a2", 0.8, quotes=(False, True)),
        judged("a3", 0.4, quotes=(False, False)),
        judged("a4", 0.7),  # no answer given
        judged("u1", 0.6, answerable=False),
        judged("u2", 0.2, answerable=False),
        judged("u3", 0.1, answerable=False),
    )
    # AUROC: 12 pairs; only a3 (.4) under u1 (.6) is wrong. Abstained: a3, u2, u3.
    assert found.metrics == {
        **UNKNOWN,
        "first_quote": pytest.approx(1 / 3),
        "unfolded_quote": pytest.approx(1 / 3),
        "any_quote": pytest.approx(2 / 3),
        "answerable_refused": pytest.approx(1 / 4),
        "answerable_closest": 0,
        "near_answered": None,
        "far_refused": None,
        "abstained_rightly": pytest.approx(5 / 7),
        "words_shown": 9,
        "answerability_auroc": pytest.approx(11 / 12),
        "abstain_precision": pytest.approx(2 / 3),
        "abstain_recall": pytest.approx(2 / 3),
    }
    assert (found.questions, found.answerable, found.unanswerable, found.threshold) == (7, 4, 3, 0.5)
    assert found.ms_per_query == {"p50": 60.0, "p95": 90.0}
    assert (found.documents, found.sentences, found.ingest_seconds) == (2, 5, 1.5)


def test_what_nobody_judged_counts_for_nothing_and_is_named() -> None:
    unjudged = judged_by(Question(_id="q", text="?"), probability=0.1)
    assert (unjudged.answerable, unjudged.abstained) == (None, True)
    found = report(judged("a", 0.9), unjudged)
    assert found.unjudged == ("q",)
    assert (found.questions, found.answerable, found.unanswerable) == (2, 1, 0)
    assert (found.metrics["answerable_refused"], found.metrics["abstain_precision"]) == (0, None)


@pytest.mark.parametrize(("source", "expected"), [("fan.md", True), ("fan", False), ("pump.md", False)])
def test_a_quote_of_a_relevant_document(source: str, expected: bool) -> None:
    heard = Heard(Retrieval("?", (), Answerability(0.6, 0.5)), [Shown("It hums.", source)])
    relevant = judge(Question(_id="q", text="?"), heard, 1.0, relevant={"fan.md#Fan > Speed"})
    assert (relevant.relevant, relevant.answerable, relevant.first) == (expected, True, None)


def test_failures_are_told_question_by_question() -> None:
    queries = [Question(_id=name, text=f"{name}?") for name in ("fine", "lost", "invented")]
    judgements = [
        judged("fine", 0.9, quotes=(True, True)),
        replace(judged("lost", 0.1, quotes=(False, False)), text="Not in the documents."),
        replace(judged("invented", 0.9), answer_right=False, problem="lacks 5 kpa", groundedness=0.5),
    ]
    lost, invented = failures_of(queries, judgements)
    assert (lost["id"], lost["said"], len(lost["problems"])) == ("lost", "Not in the documents.", 2)
    assert len(invented["problems"]) == 2 and "lacks 5 kpa" in invented["problems"]
