"""The scores of one question in an experiment, all 0..1 and higher is better.

A passage is a hit if it contains at least half of a gold span, so that chunks of any size are judged by the
same gold spans.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.datasets import Question, Span
from evals.judging import Heard, hear, text_seen
from evals.metrics import ndcg_of_gains
from evals.playing import Moment, played, playing
from evals.remembering import is_right
from evals.talks import Talk

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answer import Passage

FIRST = 3  # passages that count for hit@3
DEPTH = 10
HALF = 0.5  # least share of a gold span's characters in a hit

Similarity = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Scored:
    """One question: its scores, 0..1, by metric, the milliseconds that it took, and a number of words.

    `words` counts the passages; in a talk, the answer. A metric that does not apply has no score.
    """

    id: str
    scores: dict[str, float]
    ms: float
    words: int


def score_questions(
    athena: Athena, queries: Iterable[Question], *, similarity: Similarity, judged: Collection[str]
) -> list[Scored]:
    """Ask each question in the chat and score it; `judged` are the ids of the questions in the qrels."""
    scored = []
    for query in queries:
        started = time.perf_counter()
        heard = hear(athena, query)
        ms = (time.perf_counter() - started) * 1000
        known = query.judged is not None or query.id in judged
        words = sum(len(passage.node.text.split()) for passage in heard.retrieval.passages)
        scored.append(Scored(query.id, scores_of(query, heard, similarity, known=known), ms, words))
    return scored


def scores_of(query: Question, heard: Heard, similarity: Similarity, *, known: bool) -> dict[str, float]:
    """Return the scores of one answer by metric; `known`: the data set says whether it is answerable."""
    scores = {}
    if query.answerable and query.spans:
        scores = ranking_scores(heard.retrieval.passages, query.spans)
    if query.reference:
        scores["similarity"] = similarity(query.reference, text_seen(heard))
    if known:
        verdict = heard.verdict or heard.retrieval.answerability.verdict
        scores["abstained_rightly"] = float((verdict == "not in the documents") is not query.answerable)
    return scores


def ranking_scores(passages: Sequence[Passage], golds: Sequence[Span]) -> dict[str, float]:
    """Return hit@3, MRR and nDCG@10 of passages (best first) for the gold spans of a question.

    The gain of a passage is the number of gold spans that it contains and no earlier passage does.
    """
    found: set[int] = set()
    gains = []
    first = 0
    for rank, passage in enumerate(passages[:DEPTH], start=1):
        held = {number for number, gold in enumerate(golds) if holds_half(passage, gold)}
        first = first or (rank if held else 0)
        gains.append(len(held - found))
        found |= held
    return {
        "hit@3": float(0 < first <= FIRST),
        "MRR": 1 / first if first else 0.0,
        "nDCG@10": ndcg_of_gains(gains, len(golds), DEPTH),
    }


def holds_half(passage: Passage, gold: Span) -> bool:
    """Whether a passage (its section, or only the sentences found) contains at least half of a gold span."""
    if gold.start is None or gold.end is None or passage.section.metadata["source"] != gold.source:
        return False
    nodes = [passage.section] if passage.whole else [hit.node for hit in passage.sentences]
    overlap = sum(
        max(0, min(node.end_char_idx, gold.end) - max(node.start_char_idx, gold.start)) for node in nodes
    )
    return overlap >= HALF * (gold.end - gold.start)


def score_talks(
    athena: Athena, talks: Iterable[Talk], *, preset: str, similarity: Similarity
) -> list[Scored]:
    """Play the talks with a memory preset; return `answered` and `similarity` for each question."""

    def score(moment: Moment) -> Iterator[Scored]:
        step = moment.step
        if step.ask and not step.never_said:
            started = time.perf_counter()
            reply = moment.reply()
            ms = (time.perf_counter() - started) * 1000
            scores = {"answered": float(is_right(reply, step))}
            if step.reference:
                scores["similarity"] = similarity(step.reference, reply.text)
            yield Scored(f"{moment.talk.name} {step.at:.0f}", scores, ms, len(reply.text.split()))

    answering = athena.models.language_model()[0] is None  # a model is slow: it answers only the questions
    with playing(athena, memory=preset) as other:
        return [one for talk in talks for one in played(other, talk, score, answering=answering)]
