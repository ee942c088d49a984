"""`athena eval memory`: whether the turns that answer a question are found among a user's turns."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evals.conversations import Conversation, load_conversations
from evals.indexing import Bars, Report, bar
from evals.metrics import mean, percentile, recall_at, reciprocal_rank_at
from memory.turns.index import TurnIndex
from memory.turns.search import WEIGHTS, Weights, search_turns

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.models.base import Encoder

HIT = 10


@dataclass(frozen=True, slots=True)
class RankedTurns:
    """One question: the ids of all turns, best first, those that answer it, and the time of the search."""

    category: str
    ranking: tuple[str, ...]
    evidence: tuple[str, ...]
    ms: float


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What `athena eval memory --json` prints; its names are those of `as_shape`."""

    questions: int
    metrics: dict[str, float]
    by_category: dict[str, dict[str, float]]
    ms_per_read: dict[str, float]
    conversations: int
    turns: int
    left_out: int  # questions without evidence


def evaluate_memory(athena: Athena, path: Path, *, report: Bars | None = None) -> MemoryReport:
    """Remember each conversation as one user's turns, in memory alone, and ask what is asked about it."""
    return evaluate(
        load_conversations(path), encoder=athena.encoder, report=bar(report, "Remembering and asking")
    )


def evaluate(
    conversations: Sequence[Conversation],
    *,
    encoder: Encoder,
    weights: Weights = WEIGHTS,
    report: Report | None = None,
) -> MemoryReport:
    """Remember each conversation as one user's turns, and ask everything that is asked about it."""
    found: list[RankedTurns] = []
    for done, held in enumerate(conversations, start=1):
        found += _ask(held, encoder=encoder, weights=weights)
        if report:
            report(done, len(conversations))
    times = [item.ms for item in found]
    categories = sorted({item.category for item in found})
    return MemoryReport(
        questions=len(found),
        metrics=_metrics(found),
        by_category={
            name: {"questions": len(chosen), **_metrics(chosen)}
            for name in categories
            if (chosen := [item for item in found if item.category == name])
        },
        ms_per_read={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
        conversations=len(conversations),
        turns=sum(len(held.turns) for held in conversations),
        left_out=sum(held.left_out for held in conversations),
    )


def _ask(held: Conversation, *, encoder: Encoder, weights: Weights) -> list[RankedTurns]:
    index = TurnIndex(held.turns, embed=encoder.encode_passages)
    found = []
    for asked in held.asked:
        started = time.perf_counter()
        ranking = search_turns(index, asked.question, encoder=encoder, top_k=len(index), weights=weights)
        ms = (time.perf_counter() - started) * 1000
        ids = tuple(item.turn.id for item in ranking)
        found.append(RankedTurns(asked.category, ids, asked.evidence, ms))
    return found


def _metrics(found: Sequence[RankedTurns]) -> dict[str, float]:
    """Means over the questions."""

    def recall(k: int) -> float:
        return mean([recall_at(item.ranking, item.evidence, k) for item in found])

    return {
        "R@5": recall(5),
        "R@10": recall(10),
        "R@25": recall(25),
        f"hit@{HIT}": mean([float(bool(set(item.ranking[:HIT]) & set(item.evidence))) for item in found]),
        "MRR": mean([reciprocal_rank_at(item.ranking, item.evidence, len(item.ranking)) for item in found]),
    }
