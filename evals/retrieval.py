"""`athena eval retrieval`: how well are the relevant documents ranked?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, load_qrels, load_queries
from evals.indexing import Bars, indexed_corpus, progress
from evals.metrics import mean, ndcg_at, percentile, recall_at, reciprocal_rank_at
from pipeline.answer import Message, Retrieval
from pipeline.asking.questions import earlier_leads, earlier_question
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena

DEPTH = 100  # ranked documents per question

Search = Callable[[str], Retrieval]


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """Output of `athena eval retrieval --json`; the metrics are means over the questions."""

    dataset: str
    split: str
    documents: int
    sentences: int
    queries: int
    metrics: Mapping[str, float]
    ms_per_query: Mapping[str, float]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()  # ids of questions without qrels, which are not asked


def evaluate_retrieval(
    athena: Athena,
    folder: Path,
    *,
    split: str = "test",
    corpus: Path | None = None,
    report: Bars | None = None,
) -> RetrievalReport:
    """Index the folder's corpus in a temporary store and rank the documents for every judged question.

    Raises `DatasetError` if no question is judged.
    """
    qrels = load_qrels(folder, split)
    everything = load_queries(folder)
    queries = [query for query in everything if query.id in qrels]
    if not queries:
        raise DatasetError(
            f"No question of '{folder}' is judged in its qrels.", "Check the ids and `--split`."
        )
    with indexed_corpus(athena, folder, corpus, report) as (other, indexed):
        options = other.options.but(
            top_k=DEPTH,
            candidates=max(DEPTH, other.options.candidates),
            context_tokens=10**9,
            merge_up=False,  # the qrels name sections
        )
        search = partial(other.hybrid_search.search, options=options)
        scores, times = [], []
        for query in progress(queries, report, "Asking"):
            started = time.perf_counter()
            passages = search_after_history(query, search=search).passages
            times.append((time.perf_counter() - started) * 1000)
            ranking = [indexed.names[passage.section.node_id] for passage in passages]
            scores.append(scores_of(ranking, qrels[query.id]))
    return RetrievalReport(
        dataset=folder.resolve().name,
        split=split,
        documents=indexed.documents,
        sentences=indexed.sentences,
        queries=len(scores),
        metrics={name: mean([row[name] for row in scores]) for name in scores[0]},
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        ingest_seconds=indexed.seconds,
        settings=options.model_dump(),
        unjudged=tuple(query.id for query in everything if query.id not in qrels),
    )


def search_after_history(query: Question, *, search: Search) -> Retrieval:
    """Search as a chat without a language model does: for the question alone, or after the one before it."""
    found = search(query.text)
    earlier = earlier_question([Message(turn.role, turn.text) for turn in query.history])
    if not earlier:
        return found
    with_earlier = search(f"{earlier}: {query.text}")
    return with_earlier if earlier_leads(query.text, found, with_earlier) else found


def scores_of(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """Return the metrics, 0..1, of one ranking of ids, best first."""
    return {
        "nDCG@10": ndcg_at(ranking, relevant, 10),
        "Recall@5": recall_at(ranking, relevant, 5),
        "Recall@10": recall_at(ranking, relevant, 10),
        "Recall@100": recall_at(ranking, relevant, 100),
        "MRR@10": reciprocal_rank_at(ranking, relevant, 10),
    }
