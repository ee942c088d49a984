"""`athena eval retrieval`: how well the right documents are ranked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.datasets import Qrels, Question, load_qrels, load_queries
from evals.indexing import Bars, Indexed, Report, bar, dataset_name, indexed_corpus
from evals.metrics import mean, ndcg_at, percentile, recall_at, reciprocal_rank_at
from pipeline.answer import Retrieval
from pipeline.asking.follow_ups import earlier_leads, earlier_question
from pipeline.errors import DatasetError
from pipeline.messages import Message

if TYPE_CHECKING:
    from athena import Athena

DEPTH = 100  # documents ranked a question


Search = Callable[[str], Retrieval]


def ask(query: Question, *, search: Search) -> Retrieval:
    """Return what a chat without a language model finds for a question after its history."""
    found = search(query.text)
    earlier = earlier_question([Message(turn.role, turn.text) for turn in query.history])
    if not earlier:
        return found
    with_earlier = search(f"{earlier}: {query.text}")
    return with_earlier if earlier_leads(query.text, found, with_earlier) else found


@dataclass(frozen=True, slots=True)
class Ranked:
    """One question's ranking: ids best first with scores, and how long the search took."""

    query_id: str
    ranking: tuple[tuple[str, float], ...]
    ms: float


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """What `athena eval retrieval --json` prints."""

    dataset: str
    split: str
    documents: int
    sentences: int
    queries: int
    metrics: Mapping[str, float]
    ms_per_query: Mapping[str, float]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    per_question: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # what a run is compared by
    unjudged: tuple[str, ...] = ()  # ids of questions that are in no qrels: not asked


def evaluate_retrieval(
    athena: Athena,
    folder: Path,
    *,
    split: str = "test",
    run: Path | None = None,
    corpus: Path | None = None,
    report: Bars | None = None,
) -> RetrievalReport:
    """Index the folder's corpus in a temporary store and rank the documents of every judged question."""
    qrels = load_qrels(folder, split)
    everything = load_queries(folder)
    queries = judged(everything, qrels, folder=folder)
    with indexed_corpus(athena, folder, corpus, report) as (other, indexed):
        options = other.options.but(
            top_k=DEPTH,
            candidates=max(DEPTH, other.options.candidates),
            context_tokens=10**9,
            merge_up=False,  # what is judged are sections
        )
        ranked = rank_queries(
            queries,
            search=partial(other.hybrid_search.search, options=options),
            names=indexed.names,
            report=bar(report, "Asking"),
        )
    if run:
        write_run(run, ranked)
    found = report_on(
        ranked,
        qrels,
        dataset=dataset_name(folder),
        split=split,
        indexed=indexed,
        settings=options.model_dump(),
    )
    return replace(found, unjudged=tuple(query.id for query in everything if query.id not in qrels))


def rank_queries(
    queries: Sequence[Question],
    *,
    search: Search,
    names: Mapping[str, str],
    report: Report | None = None,
) -> list[Ranked]:
    """The ranking of each question; condensing counts into its time, like in a chat."""
    ranked = []
    for done, query in enumerate(queries, start=1):
        started = time.perf_counter()
        retrieval = ask(query, search=search)
        ms = (time.perf_counter() - started) * 1000
        ranking = [(names[passage.section.node_id], passage.score) for passage in retrieval.passages]
        ranked.append(Ranked(query.id, tuple(ranking), ms))
        if report:
            report(done, len(queries))
    return ranked


def judged(queries: Iterable[Question], qrels: Qrels, *, folder: Path) -> list[Question]:
    """The questions that the qrels judge; raises `DatasetError` where none is."""
    found = [query for query in queries if query.id in qrels]
    if not found:
        raise DatasetError(
            f"No question of '{folder}' is judged in its qrels.", "Check the ids and `--split`."
        )
    return found


def report_on(
    ranked: Sequence[Ranked],
    qrels: Qrels,
    *,
    dataset: str,
    split: str,
    indexed: Indexed,
    settings: Mapping[str, Any],
) -> RetrievalReport:
    """Metrics, means over the questions."""
    scores = {
        item.query_id: _scores([name for name, _ in item.ranking], qrels[item.query_id]) for item in ranked
    }
    names = next(iter(scores.values()), {})
    times = [item.ms for item in ranked]
    return RetrievalReport(
        dataset=dataset,
        split=split,
        documents=indexed.documents,
        sentences=indexed.sentences,
        queries=len(ranked),
        metrics={name: mean([row[name] for row in scores.values()]) for name in names},
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        ingest_seconds=indexed.seconds,
        settings=settings,
        per_question=scores,
    )


def _scores(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    return {
        "nDCG@10": ndcg_at(ranking, relevant, 10),
        "Recall@5": recall_at(ranking, relevant, 5),
        "Recall@10": recall_at(ranking, relevant, 10),
        "Recall@100": recall_at(ranking, relevant, 100),
        "MRR@10": reciprocal_rank_at(ranking, relevant, 10),
    }


def write_run(path: Path, ranked: Sequence[Ranked], *, tag: str = "athena") -> None:
    """Write the ranking as a TREC run: query, Q0, document, rank, score, tag; blanks in ids become `_`.

    trec_eval sorts by score, so equal ones are set apart by a hair in the order of the ranks.
    """
    lines = [
        f"{_word(item.query_id)} Q0 {_word(name)} {rank} {score - rank * 1e-9:.9f} {tag}"
        for item in ranked
        for rank, (name, score) in enumerate(item.ranking, start=1)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _word(text: str) -> str:
    return "_".join(text.split())
