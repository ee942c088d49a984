"""`athena eval answers`: whether the quotes hold the answer, and whether the verdict is right."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evals.datasets import Qrels, Question, load_queries, relevant_to, with_texts
from evals.indexing import Bars, Indexed, Report, bar, dataset_name, index_of, indexed_corpus
from evals.judging import Heard, Judged, groundedness, hear, judge
from evals.metrics import auroc, bootstrap, bootstrap_ratio, mean, percentile
from evals.rules import Similarity, problem_of
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena
    from evals.trulens import Recorder


Hear = Callable[[Question], Heard]
KNOWN = (
    *("section", "marked", "parts", "alone"),
    *("groundedness", "answer_right", "similarity"),
)
LOWER = ("answerable_refused", "answerable_closest", "near_answered")  # is better: not for a comparison
SHOWN = 400  # characters of an answer in a list of failures


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
    llm: str = ""  # the model that wrote the answers; "" = quotes
    unjudged: tuple[str, ...] = ()  # ids of questions of which the data do not say whether they are answered
    per_question: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # what a run is compared by
    failures: tuple[Mapping[str, Any], ...] = ()  # question by question, where they were asked for
    judge: Mapping[str, float] | None = None  # means of the metrics that a language model judged
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
    judge: str | None = None,
    failures: bool = False,
    report: Bars | None = None,
) -> AnswersReport:
    """Ask the chat every question and judge its answer; the folder's corpus is indexed for the occasion.

    Where the settings have a language model, the answers are its own. With `indexed` it is the index of the
    data folder that is asked, as it is. With a TruLens database, the answers are recorded there; with the
    name of a model as `judge`, TruLens' feedback functions judge them by that model.
    """
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    if judge and not trulens:
        trulens = str(athena.settings.data_dir / "trulens.sqlite")
    with (
        _recorder(trulens, athena, dataset_name(folder), judge) as recorder,
        nullcontext((athena, index_of(athena)))
        if indexed
        else indexed_corpus(athena, folder, corpus, report) as (other, index),
    ):
        queries = with_texts(queries, lambda source: other.store.sections.document(source).text)
        threshold = other.hybrid_search.calibration.threshold
        scoring = Scoring(other, relevant_to(folder))
        judgements = judge_answers(
            queries,
            hear=partial(hear, other, generated=True, traced=True),
            scoring=scoring,
            report=bar(report, "Asking"),
        )
        judged = recorder.record(scoring.heard, report=bar(report, "Recording")) if recorder else None
    found = report_on(
        judgements,
        dataset=dataset_name(folder),
        threshold=threshold,
        indexed=index,
        settings=athena.options.model_dump(),
    )
    return replace(
        found,
        llm=athena.models.language_model()[1].name,
        judge=judged,
        failures=failures_of(queries, judgements) if failures else (),
    )


def _recorder(
    trulens: str | None, athena: Athena, dataset: str, judge: str | None
) -> AbstractContextManager[Recorder | None]:
    """The open TruLens database, before anything is indexed: its errors come at once."""
    if trulens is None:
        return nullcontext()
    from evals.trulens import open_recorder

    return open_recorder(trulens, athena, dataset=dataset, judge=judge)


class Scoring:
    """Scores answers over one index by rule, and keeps the answers for a recorder."""

    def __init__(self, athena: Athena, qrels: Qrels) -> None:
        self._athena = athena
        self._qrels = qrels
        self._similarity = Similarity()
        self.heard: list[tuple[Question, Heard]] = []

    def __call__(self, query: Question, heard: Heard, ms: float, *, alone: Heard | None = None) -> Judged:
        """What the quotes hold and whether the verdict is right; of what a model wrote, whether that is."""
        self.heard.append((query, heard))
        return self._judged(query, heard, ms, alone)

    def _judged(self, query: Question, heard: Heard, ms: float, alone: Heard | None) -> Judged:
        judged = judge(query, heard, ms, alone=alone, relevant=self._qrels.get(query.id, ()))
        if judged.abstained or heard.answer is None:
            return judged
        sections = self._athena.store.sections
        judged = replace(
            judged,
            groundedness=groundedness(heard.answer, text_of=lambda source: sections.document(source).text),
            similarity=self._similarity(query.reference, judged.text) if query.reference else None,
        )
        wanted = [query.reference] if query.reference else [gold.text for gold in query.gold]
        if heard.answer.mode == "quote" or not judged.answerable or not wanted:
            return judged
        problems = [problem_of(judged.text, one) for one in wanted]
        return replace(judged, answer_right="" in problems, problem=problems[0] if all(problems) else "")


def judge_answers(
    queries: Sequence[Question],
    *,
    hear: Hear,
    scoring: Callable[..., Judged] = judge,
    report: Report | None = None,
) -> list[Judged]:
    """Ask every question and judge its answer; one after a history also in the words that need none."""
    judgements = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        heard = hear(query)
        ms = (time.perf_counter() - started) * 1000
        alone = hear(Question(_id=query.id, text=query.alone)) if query.alone else None
        judgements.append(scoring(query, heard, ms, alone=alone))
        if report:
            report(done, len(queries))
    return judgements


def failures_of(queries: Sequence[Question], judgements: Sequence[Judged]) -> tuple[Mapping[str, Any], ...]:
    """The questions that went wrong: what did, and what was said."""
    found = zip(queries, judgements, strict=True)
    return tuple(
        {"id": query.id, "question": query.text, "problems": problems, "said": item.text[:SHOWN]}
        for query, item in found
        if (problems := _problems(item))
    )


def _problems(item: Judged) -> list[str]:
    wrong = {
        "no quote holds the answer": item.any is False and not item.answer_right,
        "the first quote is of no relevant document": item.first is None and item.relevant is False,
        "abstained, and the documents answer": item.abstained and item.answerable is True,
        "answered, and the documents do not": not item.abstained and item.answerable is False,
        "a sentence is not supported": item.groundedness is not None and item.groundedness < 1,
        item.problem: item.answer_right is False,
    }
    return [problem for problem, is_so in wrong.items() if is_so]


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
    unanswerable = [item for item in judgements if item.answerable is False]
    answerable = [item for item in judgements if item.answerable]
    known = [item for item in abstained if item.answerable is not None]
    right = [item for item in abstained if item.answerable is False]
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
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        threshold=threshold,
        metrics={
            **{name: None if math.isnan(share.value) else share.value for name, share in found.items()},
            "words_shown": median([item.words for item in quoted]) if quoted else None,
            "answerability_auroc": auroc(
                [item.probability for item in judgements if item.answerable is not None],
                [item.answerable for item in judgements if item.answerable is not None],
            ),
            "abstain_precision": len(right) / len(known) if known else None,
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
        unjudged=tuple(item.query_id for item in judgements if item.answerable is None),
        per_question={item.query_id: question_shares(item) for item in judgements},
        missed=tuple(item.query_id for item in quoted if not item.any),
        wrongly_abstained=tuple(item.query_id for item in abstained if item.answerable),
        wrongly_answered=tuple(item.query_id for item in unanswerable if not item.abstained),
    )


def shares(judgements: Sequence[Judged]) -> dict[str, list[float]]:
    """What each share is the mean of: 1 or 0 for each question that it is about."""
    quoted = [item for item in judgements if item.first is not None]
    answerable = [item for item in judgements if item.answerable]
    near = [item for item in judgements if item.answerable is False and item.kind == "near"]
    known = {
        name: [value for item in judgements if (value := getattr(item, name)) is not None] for name in KNOWN
    }
    far = [item for item in judgements if item.answerable is False and item.kind == "far"]
    found = {
        **known,
        "first_quote": [item.first is True for item in quoted],
        "unfolded_quote": [item.unfolded is True for item in quoted],
        "any_quote": [item.any is True for item in quoted],
        "answerable_refused": [item.abstained for item in answerable],
        "answerable_closest": [item.verdict == "closest" for item in answerable],
        "near_answered": [item.verdict == "answered" for item in near],
        "far_refused": [item.abstained for item in far],
        "first_quote_relevant": [item.relevant for item in judgements if item.relevant is not None],
        "abstained_rightly": [
            item.abstained is not item.answerable for item in judgements if item.answerable is not None
        ],
    }
    return {name: [float(value) for value in values] for name, values in found.items()}


def question_shares(item: Judged) -> dict[str, float]:
    """What one question counts in each share that it is about."""
    return {name: values[0] for name, values in shares([item]).items() if values and name not in LOWER}


def figures(judgements: Sequence[Judged]) -> dict[str, float | None]:
    """How many questions there are of one kind, and each share; None where it is about none of them."""
    found = {name: mean(values) if values else None for name, values in shares(judgements).items()}
    return {"questions": len(judgements), **found}
