"""`athena eval memory`: whether the turns that answer a question are found, and the question answered.

The turns are ranked by the search alone; then the same conversations are played through the chat.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.chats import play
from evals.conversations import Conversation, load_conversations, spoken
from evals.indexing import Bars, Report, bar
from evals.metrics import mean, percentile, recall_at, reciprocal_rank_at
from memory.turn_index import TurnIndex
from memory.turn_search import WEIGHTS, Weights, look_up

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
    left_out: int  # questions without evidence that need some
    never_said: int = 0  # questions that count as that, and in `chat` alone
    chat: Mapping[str, Any] = field(default_factory=dict)  # as the product recalls and answers
    made: Mapping[str, float | None] = field(default_factory=dict)


def evaluate_memory(athena: Athena, path: Path, *, report: Bars | None = None) -> MemoryReport:
    """Rank each conversation's turns as one user's, then play it; what is asked is asked both times."""
    conversations = load_conversations(path)
    ranked = evaluate(conversations, encoder=athena.encoder, report=bar(report, "Searching"))
    chat, made = play(athena, conversations, report=bar(report, "Talking"))
    return replace(ranked, chat=chat, made=made)


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
        never_said=sum(asked.never_said for held in conversations for asked in held.asked),
    )


def _ask(held: Conversation, *, encoder: Encoder, weights: Weights) -> list[RankedTurns]:
    index = TurnIndex(spoken(held.turns, embed=encoder.encode_passages))
    found = []
    for asked in held.asked:
        if asked.never_said:
            continue
        started = time.perf_counter()
        ranking = look_up(index, asked.question, encoder=encoder, top_k=len(index), weights=weights).found
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
