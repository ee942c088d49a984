"""`athena eval passages`: in how many of the first passages the answer stands, as sections and merged up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, load_queries, with_texts
from evals.indexing import Bars, bar, dataset_name, indexed_corpus
from evals.judging import holds_gold
from evals.metrics import bootstrap, percentile
from pipeline.answer import Retrieval
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena

FIRST = (1, 2, 3, 5, 8)  # numbers of passages
WORDS_OF = (1, 3)


@dataclass(frozen=True, slots=True)
class Variant:
    """Results of one way to search, over the questions."""

    name: str
    shares: Mapping[int, float]  # questions answered in the first N passages, by N
    intervals: Mapping[int, tuple[float, float]]  # 95 % bootstrap intervals
    words: Mapping[int, float]  # median words of the first N passages together, by N
    merged_up: float  # passages per question that are parent sections
    ms_per_query: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PassagesReport:
    """Output of `athena eval passages --json`."""

    dataset: str
    documents: int
    sentences: int
    questions: int
    variants: tuple[Variant, ...]
    ingest_seconds: float
    settings: Mapping[str, Any] = field(default_factory=dict)


def evaluate_passages(
    athena: Athena, folder: Path, *, corpus: Path | None = None, report: Bars | None = None
) -> PassagesReport:
    """Index the folder's corpus in a temporary store and look for the answers in the first passages.

    Raises `DatasetError` if no question has an answer.
    """
    with indexed_corpus(athena, folder, corpus, report) as (other, indexed):
        queries = with_texts(load_queries(folder), lambda source: other.store.sections.document(source).text)
        asked = [query for query in queries if query.answerable and query.gold]
        if not asked:
            raise DatasetError(
                f"No question of '{folder}' has an answer.", "Put `answers` into the lines of queries.jsonl."
            )
        asking, found = bar(report, "Asking"), []
        for done, (name, merge_up) in enumerate((("sections", False), ("merged up", True)), start=1):
            options = other.options.but(merge_up=merge_up)
            retrievals = [other.hybrid_search.search(query.text, options=options) for query in asked]
            found.append(variant(name, asked, retrievals))
            if asking:
                asking(done, 2)
        return PassagesReport(
            dataset=dataset_name(folder),
            documents=indexed.documents,
            sentences=indexed.sentences,
            questions=len(asked),
            variants=tuple(found),
            ingest_seconds=indexed.seconds,
            settings=other.options.model_dump(),
        )


def variant(name: str, asked: Sequence[Question], retrievals: Sequence[Retrieval]) -> Variant:
    """Return the figures of one way to search; both sequences are over the same questions."""
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


def first_with_gold(query: Question, retrieval: Retrieval) -> int | None:
    """Return the rank (from 1) of the first passage whose whole text holds an answer, None without one."""
    for rank, passage in enumerate(retrieval.passages, start=1):
        section = passage.section
        if any(holds_gold(section.text, section.metadata["source"], gold) for gold in query.gold):
            return rank
    return None


def _words(retrieval: Retrieval, first: int) -> int:
    return sum(len(passage.section.text.split()) for passage in retrieval.passages[:first])
