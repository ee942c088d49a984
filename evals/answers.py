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
from evals.indexing import Bars, Indexed, Report, bar, dataset_name, index_of, indexed_corpus
from evals.judging import Heard, Judged, hear, judge
from evals.metrics import auroc, bootstrap, bootstrap_ratio, mean, percentile
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena
    from evals.recording import Recorder


Hear = Callable[[Question], Heard]


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
    by_kind: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    missed: tuple[str, ...] = ()  # ids of the answerable questions whose quotes lack the answer
    wrongly_abstained: tuple[str, ...] = ()
    wrongly_answered: tuple[str, ...] = ()


def evaluate_answers(
    athena: Athena,
    folder: Path,
    *,
    corpus: Path | None = None,
    trulens: str | None = None,
    indexed: bool = False,
    report: Bars | None = None,
) -> AnswersReport:
    """Ask the chat every question and judge what is quoted; the folder's corpus is indexed for the occasion.

    With `indexed` it is the index of the data folder that is asked, as it is. With a TruLens database, the
    answers are recorded there.
    """
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    if corpus:
        queries = with_texts(queries, corpus)
    asking = bar(report, "Asking")
    with (
        _recorder(trulens, folder) as recorder,
        nullcontext((athena, index_of(athena)))
        if indexed
        else indexed_corpus(athena, folder, corpus, report) as (other, index),
    ):
        threshold = other.hybrid_search.calibration.threshold
        if recorder:
            judgements = recorder.judge_answers(queries, athena=other, report=asking)
        else:
            judgements = judge_answers(queries, hear=partial(hear, other), report=asking)
    return report_on(
        judgements,
        dataset=dataset_name(folder),
        threshold=threshold,
        indexed=index,
        settings=athena.options.model_dump(),
    )


def _recorder(trulens: str | None, folder: Path) -> AbstractContextManager[Recorder | None]:
    """The database is opened before anything is indexed: what is wrong with it is said at once."""
    if trulens is None:
        return nullcontext()
    from evals.recording import open_recorder

    return open_recorder(trulens, dataset=dataset_name(folder))


def judge_answers(queries: Sequence[Question], *, hear: Hear, report: Report | None = None) -> list[Judged]:
    """Ask every question and judge its quotes; one after a history also in the words that need none."""
    judgements = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        heard = hear(query)
        ms = (time.perf_counter() - started) * 1000
        alone = hear(Question(_id=query.id, text=query.alone)) if query.alone else None
        judgements.append(judge(query, heard, ms, alone=alone))
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
    changed = [item for item in judgements if item.kind == "alone" and item.alone is not None]
    found["topic_changed"] = bootstrap_ratio(
        [float(bool(item.section)) for item in changed],
        [float(bool(item.alone)) for item in changed],
    )
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
        by_kind={
            kind: figures([item for item in judgements if item.kind == kind])
            for kind in sorted({item.kind for item in judgements})
        },
        missed=tuple(item.query_id for item in quoted if not item.any),
        wrongly_abstained=tuple(item.query_id for item in abstained if item.answerable),
        wrongly_answered=tuple(item.query_id for item in unanswerable if not item.abstained),
    )


def shares(judgements: Sequence[Judged]) -> dict[str, list[float]]:
    """What each share is the mean of: 1 or 0 for each question that it is about."""
    quoted = [item for item in judgements if item.first is not None]
    answerable = [item for item in judgements if item.answerable]
    near = [item for item in judgements if not item.answerable and item.kind == "near"]
    known = {
        name: [value for item in judgements if (value := getattr(item, name)) is not None]
        for name in ("section", "marked", "parts", "headed", "alone")
    }
    far = [item for item in judgements if not item.answerable and item.kind == "far"]
    found = {
        **known,
        "first_quote": [item.first is True for item in quoted],
        "unfolded_quote": [item.unfolded is True for item in quoted],
        "any_quote": [item.any is True for item in quoted],
        "answerable_refused": [item.abstained for item in answerable],
        "answerable_closest": [item.verdict == "closest" for item in answerable],
        "near_answered": [item.verdict == "answered" for item in near],
        "far_refused": [item.abstained for item in far],
    }
    return {name: [float(value) for value in values] for name, values in found.items()}


def figures(judgements: Sequence[Judged]) -> dict[str, float | None]:
    """How many questions there are of one kind, and each share; None where it is about none of them."""
    found = {name: mean(values) if values else None for name, values in shares(judgements).items()}
    return {"questions": len(judgements), **found}
