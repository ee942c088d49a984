"""`athena eval answers`: do the quotes hold the answer, and is abstaining right?"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, load_queries, relevant_to, with_texts
from evals.indexing import Bars, Indexed, index_of, indexed_corpus, progress
from evals.judging import Heard, Judged, Similarity, groundedness, hear, judge, problem_of
from evals.metrics import auroc, bootstrap, mean, percentile
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena

KNOWN = ("marked", "parts", "alone", "groundedness", "answer_right", "similarity")
PASSAGES = {"section": 1, "in_3_passages": 3, "in_8_passages": 8}
SHOWN = 400  # characters of an answer in a list of failures


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """Output of `athena eval answers --json`.

    Quotes are judged for every answerable question, even if Athena abstains. For abstention, unanswerable
    questions are the positive class. A metric without data is None.
    """

    dataset: str
    documents: int
    sentences: int
    questions: int
    answerable: int
    unanswerable: int
    threshold: float
    metrics: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float]]  # 95 % bootstrap intervals of the shares
    ms_per_query: Mapping[str, float]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    by_kind: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    llm: str = ""  # the model that wrote the answers; "" = quotes
    unjudged: tuple[str, ...] = ()  # ids of questions without a judgement in the data set
    failures: tuple[Mapping[str, Any], ...] = ()  # listed on request
    judge: Mapping[str, float] | None = None  # means of the metrics that a language model judged


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
    """Index the folder's corpus in a temporary store, ask every question in the chat and judge the answers.

    If the settings name a language model, its answers are judged. With `indexed`, the data folder's own index
    is asked instead. With a TruLens database, the answers are recorded there; with the name of a model as
    `judge`, TruLens' feedback functions judge them. Raises `DatasetError` if the data set cannot be read.
    """
    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    if judge and not trulens:
        trulens = str(athena.settings.data_dir / "trulens.sqlite")
    recording: Any = nullcontext()
    if trulens is not None:
        from evals.trulens import open_recorder  # its errors come before anything is indexed

        recording = open_recorder(trulens, athena, dataset=folder.resolve().name, judge=judge)
    own = (
        nullcontext((athena, index_of(athena.store)))
        if indexed
        else indexed_corpus(athena, folder, corpus, report)
    )
    with recording as recorder, own as (other, index):
        queries = with_texts(queries, lambda source: other.store.document(source).text)
        threshold = other.hybrid_search.calibration.threshold
        heard, judgements = _asked(other, progress(queries, report, "Asking"), relevant_to(folder))
        judged = None
        if recorder:
            pairs = list(zip(queries, heard, strict=True))
            judged = recorder.record(progress(pairs, report, "Recording"))
    found = report_on(
        judgements,
        dataset=folder.resolve().name,
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


def _asked(
    athena: Athena, queries: Iterable[Question], qrels: Mapping[str, Collection[str]]
) -> tuple[list[Heard], list[Judged]]:
    """Ask and judge every question; ask one with an `alone` wording in this wording, too, without history."""
    similarity = Similarity()
    heard, judgements = [], []
    for query in queries:
        started = time.perf_counter()
        item = hear(athena, query)
        ms = (time.perf_counter() - started) * 1000
        other = Question(_id=query.id, text=query.alone)
        alone = hear(athena, other) if query.alone else None
        judged = judge(query, item, ms, alone=alone, relevant=qrels.get(query.id, ()))
        heard.append(item)
        judgements.append(_with_rules(athena, query, item, judged, similarity))
    return heard, judgements


def _with_rules(
    athena: Athena, query: Question, heard: Heard, judged: Judged, similarity: Similarity
) -> Judged:
    """Add groundedness, similarity and, for generated text, whether it is right; an abstention gets none."""
    if judged.abstained or heard.answer is None:
        return judged
    store = athena.store
    judged = replace(
        judged,
        groundedness=groundedness(heard.answer, text_of=lambda source: store.document(source).text),
        similarity=similarity(query.reference, judged.text) if query.reference else None,
    )
    wanted = [query.reference] if query.reference else [gold.text for gold in query.gold]
    if heard.answer.mode == "quote" or not judged.answerable or not wanted:
        return judged
    problems = [problem_of(judged.text, one) for one in wanted]
    return replace(judged, answer_right="" in problems, problem=problems[0] if all(problems) else "")


def failures_of(queries: Sequence[Question], judgements: Sequence[Judged]) -> tuple[Mapping[str, Any], ...]:
    """Return a row for each question with a problem: `id`, `question`, `problems`, start of the answer."""
    found = zip(queries, judgements, strict=True)
    return tuple(
        {"id": query.id, "question": query.text, "problems": problems, "said": item.text[:SHOWN]}
        for query, item in found
        if (problems := _problems(item))
    )


def _problems(item: Judged) -> list[str]:
    wrong = {
        "no quote holds the answer": item.any is False and not item.answer_right,
        "the first quote is from no relevant document": item.first is None and item.relevant is False,
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
    """Return the report: shares of all questions with their intervals, and shares of each kind."""
    found = {name: bootstrap(values) for name, values in shares(judgements).items()}
    kinds = sorted({item.kind for item in judgements})
    times = [item.ms for item in judgements]
    return AnswersReport(
        dataset=dataset,
        documents=indexed.documents,
        sentences=indexed.sentences,
        questions=len(judgements),
        answerable=sum(item.answerable is True for item in judgements),
        unanswerable=sum(item.answerable is False for item in judgements),
        threshold=threshold,
        metrics={
            **{name: None if math.isnan(share.value) else share.value for name, share in found.items()},
            "topic_changed": _topic_changed(judgements),
            **_verdict_figures(judgements),
        },
        intervals={
            name: (share.low, share.high) for name, share in found.items() if not math.isnan(share.value)
        },
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        ingest_seconds=indexed.seconds,
        settings=settings,
        by_kind={kind: figures([item for item in judgements if item.kind == kind]) for kind in kinds},
        unjudged=tuple(item.query_id for item in judgements if item.answerable is None),
    )


def _topic_changed(judgements: Sequence[Judged]) -> float | None:
    """Return the right first passages after a change of topic, divided by those without a history."""
    changed = [item for item in judgements if item.kind == "alone"]
    alone = sum(item.alone is True for item in changed)
    return sum(item.rank == 1 for item in changed if item.alone is not None) / alone if alone else None


def _verdict_figures(judgements: Sequence[Judged]) -> dict[str, float | None]:
    """Return the median of visible words, and how well probability and abstention tell answerability."""
    words = [item.words for item in judgements if item.first is not None]
    known = [item for item in judgements if item.answerable is not None]
    abstained = [item for item in known if item.abstained]
    unanswerable = [item for item in known if not item.answerable]
    right = sum(item.abstained for item in unanswerable)
    return {
        "words_shown": median(words) if words else None,
        "answerability_auroc": auroc(
            [item.probability for item in known], [bool(item.answerable) for item in known]
        ),
        "abstain_precision": right / len(abstained) if abstained else None,
        "abstain_recall": right / len(unanswerable) if unanswerable else None,
    }


def shares(judgements: Sequence[Judged]) -> dict[str, list[float]]:
    """Return by metric its values, 0..1, for the questions that it applies to; their mean is the share."""
    quoted = [item for item in judgements if item.first is not None]
    answerable = [item for item in judgements if item.answerable]
    near = [item for item in judgements if item.answerable is False and item.kind == "near"]
    far = [item for item in judgements if item.answerable is False and item.kind == "far"]
    known = {
        name: [value for item in judgements if (value := getattr(item, name)) is not None] for name in KNOWN
    }
    ranks = [item.rank for item in judgements if item.rank is not None]
    found = {
        **known,
        **{name: [rank <= first for rank in ranks] for name, first in PASSAGES.items()},
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


def figures(judgements: Sequence[Judged]) -> dict[str, float | None]:
    """Return the number of questions, and each metric's share of them; None for a metric without data."""
    found = {name: mean(values) if values else None for name, values in shares(judgements).items()}
    return {"questions": len(judgements), **found}
