"""Rerank: a cross-encoder reads question and passage together; its score joins the first stage's."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from pipeline.answer import Passage
from pipeline.errors import ModelError
from pipeline.finding.verdict_weights import sigmoid
from pipeline.models.base import CrossEncoder
from pipeline.steps.records import STOPPED, Reranked, RerankStep
from pipeline.steps.trace import RunningStep


def take(
    step: RunningStep[RerankStep],
    question: str,
    passages: list[Passage],
    *,
    cross_encoder: CrossEncoder | None,
    wanted: bool,
    stop: threading.Event,
) -> list[Passage]:
    """The passages in their new order, or as they were where there is none."""
    if not wanted:
        step.skip("switched off")
    elif cross_encoder is None:
        step.skip("no cross-encoder is available")
    elif stop.is_set():
        step.skip(STOPPED)
    else:
        return _taken(step, question, passages, cross_encoder)
    return passages


def _taken(
    step: RunningStep[RerankStep], question: str, passages: list[Passage], cross_encoder: CrossEncoder
) -> list[Passage]:
    """The passages in their new order; a cross-encoder that fails leaves them as they were."""
    record = step.record
    try:
        ordered = rerank(
            question, passages, cross_encoder=cross_encoder, top_n=record.top_n, weight=record.weight
        )
    except ModelError as error:
        step.fail(str(error))
        return passages
    step.record = replace(
        record,
        model=cross_encoder.name,
        before=tuple(passage.section.node_id for passage in passages),
        after=tuple(Reranked(p.section.node_id, p.score, p.rerank_score) for p in ordered),
    )
    return ordered


def rerank(
    question: str, passages: Sequence[Passage], *, cross_encoder: CrossEncoder, top_n: int, weight: float
) -> list[Passage]:
    """Reorder the first `top_n` passages by the weighted sum of both scores; the others follow.

    Both scores are 0..1: the cross-encoder's logit through a sigmoid, the first stage's relative score.
    A cross-encoder alone can lose to a good first stage, so `weight` 1 is not the default.
    """
    head, tail = list(passages[:top_n]), list(passages[top_n:])
    if not head:
        return tail
    scores = sigmoid(cross_encoder.score(question, [passage_text(passage) for passage in head]))
    combined = [
        replace(
            passage, score=(1 - weight) * passage.score + weight * float(score), rerank_score=float(score)
        )
        for passage, score in zip(head, scores, strict=True)
    ]
    combined.sort(key=lambda passage: (-passage.score, passage.section.node_id))
    lowest = combined[-1].score
    # What the cross-encoder did not read stays behind what it did, and no score says otherwise.
    return combined + [replace(passage, score=min(lowest, passage.score)) for passage in tail]


def passage_text(passage: Passage) -> str:
    """What the cross-encoder reads: the heading path, then the section or its found sentences in order."""
    heading = " > ".join(passage.section.metadata["heading_path"])
    if passage.whole:
        return f"{heading}\n{passage.section.text}"
    in_order = sorted(passage.sentences, key=lambda hit: hit.node.metadata["position"])
    return f"{heading}\n" + " ".join(hit.node.text for hit in in_order)
