"""`athena eval answers`: whether the quotes hold the answer, and whether the verdict is right."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, load_queries, with_texts
from evals.indexing import Bars, Indexed, Report, bar, dataset_name, indexed_corpus
from evals.judging import Judged, Shown, judge, quotes_shown
from evals.metrics import auroc, bootstrap, percentile
from evals.retrieval import Search, ask
from pipeline.answer import Retrieval
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena
    from evals.recording import Recorder


Quotes = Callable[[Retrieval], Sequence[Shown]]  # the quotes that an answer would show, in order


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


def evaluate_answers(
    athena: Athena,
    folder: Path,
    *,
    corpus: Path | None = None,
    trulens: str | None = None,
    report: Bars | None = None,
) -> AnswersReport:
    """Index the folder's corpus for the occasion, ask every question and judge what is quoted.

    With a TruLens database, the questions go through the whole chat engine and its answers are recorded
    there; else only what its quotes are made of is run.
    """
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    if corpus:
        queries = with_texts(queries, corpus)
    asking = bar(report, "Asking")
    with (
        _recorder(trulens, folder) as recorder,
        indexed_corpus(athena, folder, corpus, report) as (other, indexed),
    ):
        hybrid_search = other.hybrid_search
        if recorder:
            judgements = recorder.judge_answers(queries, athena=other, report=asking)
        else:
            judgements = judge_answers(
                queries,
                search=hybrid_search.search,
                quotes=partial(quotes_shown, other),
                report=asking,
            )
    return report_on(
        judgements,
        dataset=dataset_name(folder),
        threshold=hybrid_search.calibration.threshold,
        indexed=indexed,
        settings=athena.options.model_dump(),
    )


def _recorder(trulens: str | None, folder: Path) -> AbstractContextManager[Recorder | None]:
    """The database is opened before anything is indexed: what is wrong with it is said at once."""
    if trulens is None:
        return nullcontext()
    from evals.recording import open_recorder

    return open_recorder(trulens, dataset=dataset_name(folder))


def judge_answers(
    queries: Sequence[Question],
    *,
    search: Search,
    quotes: Quotes,
    report: Report | None = None,
) -> list[Judged]:
    """Ask every question and judge its quotes."""
    judgements = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        retrieval = ask(query, search=search)
        shown = quotes(retrieval)
        ms = (time.perf_counter() - started) * 1000
        judgements.append(judge(query, retrieval, shown, ms))
        if report:
            report(done, len(queries))
    return judgements


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
