"""`athena eval answers`: whether the quotes hold the answer, and whether the verdict is right."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from evals.datasets import Question, Span
from evals.intervals import bootstrap
from evals.metrics import auroc, percentile
from evals.runs.indexing import Indexed, Report
from evals.runs.retrieval import Condense, Search, ask
from pipeline.answer import Retrieval, Verdict


@dataclass(frozen=True, slots=True)
class Shown:
    """A quote as a reader sees it; a folded one after a click."""

    text: str
    source: str = ""
    folded: bool = False


Quotes = Callable[[Retrieval], Sequence[Shown]]  # the quotes that an answer would show, in order


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what was quoted, whether it holds the answer, and the verdict."""

    query_id: str
    answerable: bool
    probability: float
    verdict: Verdict
    first: bool | None  # None where the data name no answer
    unfolded: bool | None  # whether a quote that is seen without a click holds it
    any: bool | None
    words: int  # seen without a click
    ms: float
    kind: str = ""

    @property
    def abstained(self) -> bool:
        """True where the verdict is that the documents do not answer."""
        return self.verdict == "not in the documents"


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
    intervals: Mapping[str, tuple[float, float]]  # 95 % bootstrap, of the metrics that are shares
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
    quotes: Quotes,
    condense: Condense,
    report: Report | None = None,
) -> list[Judged]:
    """Ask every question and judge its quotes."""
    judgements = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        retrieval = ask(query, search=search, condense=condense)
        shown = quotes(retrieval)
        ms = (time.perf_counter() - started) * 1000
        judgements.append(judge(query, retrieval, shown, ms))
        if report:
            report(done, len(queries))
    return judgements


def judge(query: Question, retrieval: Retrieval, shown: Sequence[Shown], ms: float) -> Judged:
    """One question's quotes and verdict against what the data set knows."""
    holds = [any(holds_gold(quote.text, quote.source, gold) for gold in query.gold) for quote in shown]
    unfolded = [not quote.folded for quote in shown]
    known = bool(query.answerable and query.gold)
    verdict = retrieval.answerability
    return Judged(
        query.id,
        query.answerable,
        verdict.probability,
        verdict.verdict,
        first=bool(holds and holds[0]) if known else None,
        unfolded=any(here and seen for here, seen in zip(holds, unfolded, strict=True)) if known else None,
        any=any(holds) if known else None,
        words=sum(len(quote.text.split()) for quote in shown if not quote.folded),
        ms=ms,
        kind=query.kind,
    )


def holds_gold(text: str, source: str, gold: Span) -> bool:
    """Whether a quote has the gold in it and is from its document, where that is known."""
    return gold.source in ("", source) and contains(text, gold.text)


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
    found = {name: bootstrap(values) for name, values in shares(judgements).items()}
    return AnswersReport(
        dataset=dataset,
        documents=indexed.documents,
        sentences=indexed.sentences,
        questions=len(judgements),
        answerable=len(judgements) - len(unanswerable),
        unanswerable=len(unanswerable),
        threshold=threshold,
        metrics={
            **{name: None if math.isnan(share.value) else share.value for name, share in found.items()},
            "words_shown": median([item.words for item in quoted]) if quoted else None,
            "answerability_auroc": auroc(
                [item.probability for item in judgements], [item.answerable for item in judgements]
            ),
            "abstain_precision": len(right) / len(abstained) if abstained else None,
            "abstain_recall": len(right) / len(unanswerable) if unanswerable else None,
        },
        intervals={
            name: (share.low, share.high) for name, share in found.items() if not math.isnan(share.value)
        },
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        ingest_seconds=indexed.seconds,
        settings=settings,
        missed=tuple(item.query_id for item in quoted if not item.any),
        wrongly_abstained=tuple(item.query_id for item in abstained if item.answerable),
        wrongly_answered=tuple(item.query_id for item in unanswerable if not item.abstained),
    )


def shares(judgements: Sequence[Judged]) -> dict[str, list[float]]:
    """What each share is the mean of: 1 or 0 for each question that it is about."""
    quoted = [item for item in judgements if item.first is not None]
    answerable = [item for item in judgements if item.answerable]
    near = [item for item in judgements if not item.answerable and item.kind == "near"]
    far = [item for item in judgements if not item.answerable and item.kind == "far"]
    found = {
        "first_quote": [item.first is True for item in quoted],
        "unfolded_quote": [item.unfolded is True for item in quoted],
        "any_quote": [item.any is True for item in quoted],
        "answerable_refused": [item.abstained for item in answerable],
        "answerable_closest": [item.verdict == "closest" for item in answerable],
        "near_answered": [item.verdict == "answered" for item in near],
        "far_refused": [item.abstained for item in far],
    }
    return {name: [float(value) for value in values] for name, values in found.items()}
