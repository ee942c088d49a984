"""`athena eval answers`: whether the quotes hold the answer, and whether abstaining is right."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals.datasets import Question
from evals.metrics import auroc, mean, percentile
from evals.runs.indexing import Indexed, Report
from evals.runs.retrieval import Condense
from pipeline.answer import Retrieval

Search = Callable[[str], Retrieval]
QuoteTexts = Callable[[Retrieval], list[str]]  # the quotes that an answer would show, in order


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what was quoted, whether it holds the answer, and the verdict."""

    query_id: str
    answerable: bool
    probability: float
    abstained: bool
    first: bool | None  # None where the data name no answer
    any: bool | None
    ms: float


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """What `athena eval answers --json` prints.

    The quotes are judged for every answerable question, also where Athena would abstain; abstaining is
    judged for itself, an unanswerable question being the positive. A figure without data is None.
    """

    dataset: str
    documents: int
    sentences: int
    questions: int
    answerable: int
    unanswerable: int
    threshold: float
    metrics: Mapping[str, float | None]
    ms_per_query: Mapping[str, float]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    missed: tuple[str, ...] = ()  # ids of the answerable questions whose quotes lack the answer
    wrongly_abstained: tuple[str, ...] = ()
    wrongly_answered: tuple[str, ...] = ()


def judge_answers(
    queries: Sequence[Question],
    *,
    search: Search,
    quotes: QuoteTexts,
    condense: Condense,
    report: Report | None = None,
) -> list[Judged]:
    """Ask every question and judge its quotes."""
    judgements = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        retrieval = search(condense(query))
        texts = quotes(retrieval)
        ms = (time.perf_counter() - started) * 1000
        judgements.append(judge(query, retrieval, texts, ms))
        if report:
            report(done, len(queries))
    return judgements


def judge(query: Question, retrieval: Retrieval, texts: Sequence[str], ms: float) -> Judged:
    """One question's quotes and verdict against what the data set knows."""
    first = found = None
    if query.answerable and query.answer:
        first = contains(texts[0], query.answer) if texts else False
        found = any(contains(text, query.answer) for text in texts)
    verdict = retrieval.answerability
    return Judged(query.id, query.answerable, verdict.probability, not verdict.answerable, first, found, ms)


def contains(text: str, answer: str) -> bool:
    """Whether the text has the answer in it; case, white space and Markdown's marks do not count."""
    return _plain(answer) in _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text)).strip().casefold()


def report_on(
    judgements: Sequence[Judged],
    *,
    dataset: str,
    threshold: float,
    indexed: Indexed,
    settings: Mapping[str, Any],
) -> AnswersReport:
    """Shares over the questions."""
    quoted = [item for item in judgements if item.first is not None]
    abstained = [item for item in judgements if item.abstained]
    unanswerable = [item for item in judgements if not item.answerable]
    right = [item for item in abstained if not item.answerable]
    times = [item.ms for item in judgements]
    return AnswersReport(
        dataset=dataset,
        documents=indexed.documents,
        sentences=indexed.sentences,
        questions=len(judgements),
        answerable=len(judgements) - len(unanswerable),
        unanswerable=len(unanswerable),
        threshold=threshold,
        metrics={
            "first_quote": _share([item.first is True for item in quoted]),
            "any_quote": _share([item.any is True for item in quoted]),
            "answerability_auroc": auroc(
                [item.probability for item in judgements], [item.answerable for item in judgements]
            ),
            "abstain_precision": len(right) / len(abstained) if abstained else None,
            "abstain_recall": len(right) / len(unanswerable) if unanswerable else None,
        },
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        ingest_seconds=indexed.seconds,
        settings=settings,
        missed=tuple(item.query_id for item in quoted if not item.any),
        wrongly_abstained=tuple(item.query_id for item in abstained if item.answerable),
        wrongly_answered=tuple(item.query_id for item in unanswerable if not item.abstained),
    )


def _share(values: Sequence[bool]) -> float | None:
    return mean([float(value) for value in values]) if values else None
