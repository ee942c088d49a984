"""Rerank: a cross-encoder reads the question with the best passages; its scores join the first stage's."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pipeline.answer import Passage
from pipeline.errors import ModelError
from pipeline.finding.fusion import relative_scores
from pipeline.finding.names import names_first
from pipeline.finding.verdict import sigmoid
from pipeline.models.base import CrossEncoder
from pipeline.steps.records import STOPPED, Reranked, RerankStep

if TYPE_CHECKING:
    from pipeline.steps.trace import RunningStep

WINDOW_WORDS = 70  # that the bundled cross-encoder was trained to read at once
SURE = 0.1  # a first passage that leads by so much leaves a third of the weight: SciFact gains .02 nDCG@10
_ENDS = re.compile(r"(?<=[^\d\s][.!?])\s+|\n\s*")  # of a sentence, an item or a row


def rerank(
    step: RunningStep[RerankStep],
    question: str,
    passages: list[Passage],
    cross_encoder: CrossEncoder | None,
    stop: threading.Event,
) -> list[Passage]:
    """Reorder the first `top_n` passages by the weighted sum of both scores; the others follow as they were.

    Both are 0..1: the first stage's, and the cross-encoder's relative to what it read. Exact names stay
    first. A model that is missing or fails, or a set `stop`, leaves the passages as they were.
    """
    if cross_encoder is None or stop.is_set() or not passages:
        step.skip("no cross-encoder is available" if cross_encoder is None else STOPPED)
        return passages
    head, tail = passages[: step.record.top_n], passages[step.record.top_n :]
    try:
        logits = cross_encoder.score(question, [best_window(passage) for passage in head])
    except ModelError as error:
        step.fail(str(error))
        return passages
    sure = len(head) > 1 and head[0].score - head[1].score >= SURE
    weight = step.record.weight / (3 if sure else 1)
    relative = relative_scores({str(place): float(logit) for place, logit in enumerate(logits)}).values()
    ordered = [
        replace(p, score=(1 - weight) * p.score + weight * own, rerank_score=float(sigmoid(float(logit))))
        for p, own, logit in zip(head, relative, logits, strict=True)
    ]
    ordered.sort(key=lambda passage: (-passage.score, passage.section.node_id))
    ordered += [replace(passage, score=min(passage.score, ordered[-1].score)) for passage in tail]
    ordered = names_first(ordered, [passage.section for passage in ordered], question)
    step.set(
        model=cross_encoder.name,
        before=tuple(passage.section.node_id for passage in passages),
        after=tuple(Reranked(p.section.node_id, p.score, p.rerank_score) for p in ordered),
    )
    return ordered


def best_window(passage: Passage) -> str:
    """At most `WINDOW_WORDS` words of a passage, or one sentence, around its best one, after the headings.

    Whole sentences, items and rows are taken: the one before, those after, then more before.
    """
    section = passage.section
    text, best = section.text, passage.sentences[0].node if passage.sentences else section
    starts = [0, *(end.end() for end in _ENDS.finditer(text) if end.end() < len(text))]
    parts = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    at = max(0, bisect_right(starts, (best.start_char_idx or 0) - (section.start_char_idx or 0)) - 1)
    first, last, room = at, at, WINDOW_WORDS - len(parts[at].split())
    for place in (at - 1, *range(at + 1, len(parts)), *range(at - 2, -1, -1)):
        words = len(parts[place].split())
        if place >= 0 and place in (first - 1, last + 1) and words <= room:
            first, last, room = min(first, place), max(last, place), room - words
    window, header = "".join(parts[first : last + 1]).strip(), best.metadata.get("header", "")
    headed = window if header in window else f"{header}\n{window}"
    return f"{' > '.join(best.metadata['heading_path'])}\n\n{headed}".strip()
