"""Rerank: a cross-encoder reads question and passage together; its score joins the first stage's."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pipeline.answer import Passage
from pipeline.errors import ModelError
from pipeline.finding.fusion import relative_scores
from pipeline.finding.verdict_weights import sigmoid
from pipeline.models.base import CrossEncoder
from pipeline.nodes import Node
from pipeline.steps.records import STOPPED, Reranked, RerankStep
from pipeline.steps.trace import RunningStep

WINDOW_WORDS = 70  # that are read at once, as the bundled cross-encoder was trained
SURE = 0.1  # how far its best passage leads the second: without it, scientific claims lose .02 nDCG@10
ENDS = re.compile(r"(?<=[^\d\s][.!?])\s+|\n\s*")  # of a sentence, an item or a row


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

    Both are 0..1: the first stage's relative score, and the cross-encoder's among what it read, so that it
    does not matter how far a model spreads its logits. A cross-encoder alone can lose to a good first stage:
    the default `weight` is far below 1, and has a third of itself where the first stage is `SURE`.
    """
    head, tail = list(passages[:top_n]), list(passages[top_n:])
    if not head:
        return tail
    if len(head) > 1 and head[0].score - head[1].score >= SURE:
        weight /= 3
    logits = cross_encoder.score(question, [best_window(passage) for passage in head])
    relative = relative_scores({str(place): float(logit) for place, logit in enumerate(logits)})
    combined = [
        replace(
            passage,
            score=(1 - weight) * passage.score + weight * own,
            rerank_score=float(sigmoid(logit)),
        )
        for passage, own, logit in zip(head, relative.values(), logits, strict=True)
    ]
    combined.sort(key=lambda passage: (-passage.score, passage.section.node_id))
    lowest = combined[-1].score
    # What the cross-encoder did not read stays behind what it did, and no score says otherwise.
    return combined + [replace(passage, score=min(lowest, passage.score)) for passage in tail]


def best_window(passage: Passage) -> str:
    """What a cross-encoder reads of a passage: the text around the best sentence that was found.

    It has the section's headings before it, and at most `WINDOW_WORDS` words or one sentence.
    """
    text, offset = passage.section.text, passage.section.start_char_idx or 0
    if not passage.sentences:
        return with_headings(passage.section, " ".join(text.split()[:WINDOW_WORDS]))
    best = passage.sentences[0].node
    starts = [0, *(match.end() for match in ENDS.finditer(text) if match.end() < len(text))]
    edges = [*starts, len(text)]
    words = [len(text[start:end].split()) for start, end in pairwise(edges)]
    at = bisect_right(starts, max(0, (best.start_char_idx or 0) - offset)) - 1
    first, last = _around(at, words)
    return with_headings(best, text[edges[first] : edges[last + 1]])


def _around(at: int, words: Sequence[int]) -> tuple[int, int]:
    """The first and last of the parts around one: the one before it, those after it, then more before."""
    first = last = at
    room = WINDOW_WORDS - words[at]
    for step in (-1, *[1] * len(words), *[-1] * len(words)):
        beside = first - 1 if step < 0 else last + 1
        if 0 <= beside < len(words) and words[beside] <= room:
            room -= words[beside]
            first, last = min(first, beside), max(last, beside)
    return first, last


def with_headings(leaf: Node, text: str) -> str:
    """Some of a section as a cross-encoder reads it: after its headings, and the header of a leaf's table."""
    header, headings = leaf.metadata.get("header", ""), " > ".join(leaf.metadata["heading_path"])
    headed = text if header in text else f"{header}\n{text}"
    return f"{headings}\n\n{headed.strip()}" if headings else headed.strip()
