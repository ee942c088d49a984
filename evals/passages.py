"""`athena eval passages`: in how many of the first passages the answer stands, with and without each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, load_queries, with_texts
from evals.indexing import Bars, Indexed, Report, bar, dataset_name, indexed_corpus
from evals.judging import holds_gold
from evals.metrics import bootstrap, percentile
from pipeline.answer import Retrieval
from pipeline.errors import DatasetError
from pipeline.options import RetrievalOptions

if TYPE_CHECKING:
    from athena import Athena

FIRST = (1, 2, 3, 5, 8)  # passages that a reader may get to
WORDS_OF = (1, 3)

Search = Callable[[str, RetrievalOptions], Retrieval]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to search: how many of the questions have their answer in the first passages."""

    name: str
    shares: Mapping[int, float]  # by the number of passages
    intervals: Mapping[int, tuple[float, float]]  # 95 % bootstrap
    words: Mapping[int, float]  # of the first passages together, median
    merged_up: float  # passages a question that are parents
    ms_per_query: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PassagesReport:
    """What `athena eval passages --json` prints."""

    dataset: str
    documents: int
    sentences: int
    questions: int
    variants: tuple[Variant, ...]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)


def variants(options: RetrievalOptions) -> dict[str, RetrievalOptions]:
    """Sections as they are found, and merged into their parents."""
    return {
        "sections": options.but(merge_up=False),
        "merged up": options.but(merge_up=True),
    }


def first_with_gold(query: Question, retrieval: Retrieval) -> int | None:
    """The rank of the first passage whose whole text has the answer, from 1; None where none has it."""
    for rank, passage in enumerate(retrieval.passages, start=1):
        section = passage.section
        if any(holds_gold(section.text, section.metadata["source"], gold) for gold in query.gold):
            return rank
    return None


def evaluate_passages(
    athena: Athena, folder: Path, *, corpus: Path | None = None, report: Bars | None = None
) -> PassagesReport:
    """Index the folder's corpus for the occasion, and look for the answers in the first passages."""
    queries = load_queries(folder)
    if corpus:
        queries = with_texts(queries, corpus)
    if not any(query.answerable and query.gold for query in queries):
        raise DatasetError(
            f"No question of '{folder}' has an answer.", "Put `answers` into the lines of queries.jsonl."
        )
    with indexed_corpus(athena, folder, corpus, report) as (other, indexed):
        hybrid_search = other.hybrid_search
        return evaluate(
            queries,
            search=lambda question, options: hybrid_search.search(question, options=options),
            options=other.options,
            dataset=dataset_name(folder),
            indexed=indexed,
            report=bar(report, "Asking"),
        )


def evaluate(
    queries: Sequence[Question],
    *,
    search: Search,
    options: RetrievalOptions,
    dataset: str,
    indexed: Indexed,
    report: Report | None = None,
) -> PassagesReport:
    """Ask every question that has an answer, in every way."""
    asked = [query for query in queries if query.answerable and query.gold]
    ways = variants(options)
    found = []
    for done, (name, chosen) in enumerate(ways.items(), start=1):
        retrievals = [search(query.text, chosen) for query in asked]
        found.append(_variant(name, asked, retrievals))
        if report:
            report(done, len(ways))
    return PassagesReport(
        dataset=dataset,
        documents=indexed.documents,
        sentences=indexed.sentences,
        questions=len(asked),
        variants=tuple(found),
        ingest_seconds=indexed.seconds,
        settings=options.model_dump(),
    )


def _variant(name: str, asked: Sequence[Question], retrievals: Sequence[Retrieval]) -> Variant:
    ranks = [first_with_gold(query, found) for query, found in zip(asked, retrievals, strict=True)]
    shares = {
        first: bootstrap([float(rank is not None and rank <= first) for rank in ranks]) for first in FIRST
    }
    times = [sum(step.ms for step in found.steps) for found in retrievals]
    passages = [passage for found in retrievals for passage in found.passages]
    return Variant(
        name=name,
        shares={first: share.value for first, share in shares.items()},
        intervals={first: (share.low, share.high) for first, share in shares.items()},
        words={first: median(_words(found, first) for found in retrievals) for first in WORDS_OF},
        merged_up=sum(bool(passage.members) for passage in passages) / len(asked),
        ms_per_query={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
    )


def _words(retrieval: Retrieval, first: int) -> int:
    return sum(len(passage.section.text.split()) for passage in retrieval.passages[:first])
