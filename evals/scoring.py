"""What an experiment scores: each question of a folder, or each of talks over several sessions.

A passage is a hit where it has at least half of a gold span: chunks of any size are compared on one gold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evals.datasets import Question, Span
from evals.judges import PROMPTS, ModelJudge
from evals.judging import Heard, hear, text_seen
from evals.metrics import ndcg_of_gains
from evals.playing import PlayedAthena, playing
from evals.talks import Step as Said
from evals.talks import Talk, has_words, is_right, played
from pipeline.answering.section_blocks import end_of, start_of
from pipeline.steps.records import data_of

if TYPE_CHECKING:
    from evals.chunking import CutAthena
    from evals.indexing import Report
    from pipeline.answer import Answer, Passage

FIRST = 3
DEPTH = 10
HALF = 0.5  # of a gold span
DIGITS = 6
TIMED = 24  # questions

Similarity = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Scored:
    """One question: its scores by metric (None: the metric is not about it), and what answering it took."""

    id: str
    scores: Mapping[str, float | None]
    ms: Mapping[str, float] = field(default_factory=dict)  # by step, and "all"
    tokens_in: int = 0
    tokens_out: int | None = None  # None: no model wrote
    estimated: bool = True  # tokens of the passages by cl100k, not of the prompt by the model's server


def score_questions(
    athena: CutAthena,
    queries: Sequence[Question],
    *,
    similarity: Similarity,
    relevant: Collection[str] = (),
    judge: ModelJudge | None = None,
    report: Report | None = None,
) -> list[Scored]:
    """Ask the chat each question; with the language model that the settings name, if they do.

    `relevant` are the ids of those that the qrels know: whether they are answered is known, too.

    The first `TIMED` say how long it takes: for the others, what an earlier configuration scored is known.
    """
    scored = []
    for done, query in enumerate(queries, start=1):
        is_timed = done <= TIMED
        with athena.known.unknown(is_timed):
            started = time.perf_counter()
            heard = hear(athena, query, generated=True)
            ms = (time.perf_counter() - started) * 1000
        known = query.judged is not None or query.id in relevant
        scores = scores_of(query, heard, similarity, known=known) | judged_scores(judge, query, heard)
        scored.append(_taken(query.id, scores, heard.answer, ms if is_timed else None))
        if report:
            report(done, len(queries))
    return scored


def scores_of(
    query: Question, heard: Heard, similarity: Similarity, *, known: bool
) -> dict[str, float | None]:
    """The scores of one answer: the ranking's where gold spans are known, the answer's by its reference.

    `known` is whether the data say if the documents answer it.
    """
    golds = query.spans if query.answerable else ()
    ranking = ranking_scores(heard.retrieval.passages, golds) if golds else dict.fromkeys(RANKING)
    abstained = (heard.verdict or heard.retrieval.answerability.verdict) == "not in the documents"
    return {
        **ranking,
        "similarity": similarity(query.reference, text_seen(heard)) if query.reference else None,
        "abstained_rightly": float(abstained is not query.answerable) if known else None,
    }


RANKING = ("hit@3", "MRR", "nDCG@10")


def ranking_scores(passages: Sequence[Passage], golds: Sequence[Span]) -> dict[str, float | None]:
    """hit@3, reciprocal rank and nDCG@10 of passages, best first, by the gold spans that they hold."""
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
        "MRR": round(1 / first, DIGITS) if first else 0.0,
        "nDCG@10": round(ndcg_of_gains(gains, len(golds), DEPTH), DIGITS),
    }


def holds_half(passage: Passage, gold: Span) -> bool:
    """Whether a passage, whole or the sentences found of it, has at least half of a gold span."""
    if gold.start is None or gold.end is None or passage.section.metadata["source"] != gold.source:
        return False
    nodes = [passage.section] if passage.whole else [hit.node for hit in passage.sentences]
    overlap = sum(max(0, min(end_of(node), gold.end) - max(start_of(node), gold.start)) for node in nodes)
    return overlap >= HALF * (gold.end - gold.start)


def judged_scores(judge: ModelJudge | None, query: Question, heard: Heard) -> dict[str, float | None]:
    """What a model makes of an answer, by names of its own; None where its reply does not parse."""
    if judge is None:
        return {}
    passages = [passage.node.text for passage in heard.retrieval.passages]
    found = judge.scores(query.text, passages, text_seen(heard))
    return {f"judged_{name}": getattr(found, name) for name in PROMPTS}


def score_talks(
    athena: CutAthena,
    talks: Sequence[Talk],
    *,
    changes: Mapping[str, object],
    similarity: Similarity,
    report: Report | None = None,
) -> list[Scored]:
    """Play the talks with changed settings; what is recalled, and answered, for each of their questions."""
    scored: list[Scored] = []

    def judge(played_by: PlayedAthena, talk: Talk, step: Said, conversation: str) -> Iterator[Scored]:
        if step.ask and not step.never_said:
            is_timed = len(scored) < TIMED
            with athena.known.unknown(is_timed):
                found = _score_said(played_by, talk, step, conversation, similarity, is_timed)
            yield found

    with playing(athena, **changes) as other:
        for done, talk in enumerate(talks, start=1):
            scored += played(other, talk, judge)
            if report:
                report(done, len(talks))
    return scored


def _score_said(
    athena: PlayedAthena,
    talk: Talk,
    step: Said,
    conversation: str,
    similarity: Similarity,
    is_timed: bool,
) -> Scored:
    """One question of a talk; of one that needs an earlier session, whether the first recalled answer it."""
    started = time.perf_counter()
    inside = conversation if step.needs == "turn" else None
    reply = athena.reply_to(step.ask, user=talk.name, conversation_id=inside)
    ms = (time.perf_counter() - started) * 1000
    earlier = step.needs in ("session", "correction")
    rank = _first_recalled(athena, talk, step, data_of(reply.answer.steps, "recall")) if earlier else 0
    scores = {
        "hit@3": float(0 < rank <= FIRST) if earlier else None,
        "MRR": (round(1 / rank, DIGITS) if rank else 0.0) if earlier else None,
        "answered": float(is_right(reply, step)),
        "similarity": similarity(step.reference, reply.text) if step.reference else None,
    }
    return _taken(f"{talk.name} {step.at}", scores, reply.answer, ms if is_timed else None)


def _first_recalled(athena: PlayedAthena, talk: Talk, step: Said, recall: Mapping[str, Any]) -> int:
    """The rank of the first of what was recalled, by relevance, that has the answer; 0 where none has."""
    found = sorted(
        (*recall.get("recalled", ()), *recall.get("turns", ())), key=lambda item: -item["relevance"]
    )
    ids = list(dict.fromkeys(item["memory_id"] for item in found))[:DEPTH]
    texts = athena.memory_of(talk.name).texts(ids)
    ranks = enumerate((texts.get(known, "") for known in ids), start=1)
    return next((rank for rank, text in ranks if any(has_words(text, words) for words in step.any)), 0)


def _taken(
    question: str, scores: Mapping[str, float | None], answer: Answer | None, whole_ms: float | None
) -> Scored:
    """With what the answer took; without a model, the tokens are those of its passages."""
    ms: dict[str, float] = {} if whole_ms is None else {"all": whole_ms}
    steps = answer.steps if answer else ()
    for step in steps:
        if step.status == "ok" and whole_ms is not None:
            ms[step.name] = ms.get(step.name, 0.0) + step.ms
    if answer is None or answer.usage is None:
        passages = sum(step.data["tokens"] for step in steps if step.name == "select")
        return Scored(question, scores, ms, tokens_in=passages)
    used = answer.usage
    return Scored(question, scores, ms, used.tokens_in, used.tokens_out, used.estimated)
