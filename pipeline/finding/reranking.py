"""Rerank: a cross-encoder reads the question with the best passages; its scores join the first stage's."""

from __future__ import annotations

import threading
from dataclasses import replace

from pipeline.answer import Passage
from pipeline.errors import ModelError
from pipeline.finding.fusion import relative_scores, sigmoid
from pipeline.finding.passages import best_window
from pipeline.models.base import CrossEncoder
from pipeline.steps.records import STOPPED, Step

READ_PASSAGES = 5  # ten were no better (docs/decisions/relevance.md)
WEIGHT, SURE = 0.2, 0.1  # the cross-encoder's weight; a third if the first leads by `SURE` (453e1b24)


def rerank(
    step: Step,
    question: str,
    passages: list[Passage],
    cross_encoder: CrossEncoder | None,
    stop: threading.Event,
) -> list[Passage]:
    """Return the passages with the first `READ_PASSAGES` ordered by the weighted sum of two scores, 0..1.

    These are the first stage's, and the cross-encoder's, scaled to its minimum and maximum over the passages
    that it read. If the model is missing or fails, or `stop` is set, the passages stay as they were.
    """
    if cross_encoder is None or stop.is_set() or not passages:
        step.skip("no cross-encoder is available" if cross_encoder is None else STOPPED)
        return passages
    head, tail = passages[:READ_PASSAGES], passages[READ_PASSAGES:]
    try:
        logits = cross_encoder.score(question, [best_window(passage) for passage in head])
    except ModelError as error:
        step.fail(str(error))
        return passages
    weight = WEIGHT / 3 if len(head) > 1 and head[0].score - head[1].score >= SURE else WEIGHT
    relative = relative_scores({str(place): float(logit) for place, logit in enumerate(logits)}).values()
    ordered = [
        replace(p, score=(1 - weight) * p.score + weight * own, rerank_score=float(sigmoid(float(logit))))
        for p, own, logit in zip(head, relative, logits, strict=True)
    ]
    ordered.sort(key=lambda passage: (-passage.score, passage.section.node_id))
    ordered += [replace(passage, score=min(passage.score, ordered[-1].score)) for passage in tail]
    after = [
        {"section_id": p.section.node_id, "score": p.score, "rerank_score": p.rerank_score} for p in ordered
    ]
    step.data |= {"model": cross_encoder.name, "after": after}
    return ordered
