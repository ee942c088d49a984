"""Two wordings searched for at once: a message with what was said before it, and by itself.

Their lists are added up; what both find stays on top. `docs/decisions/condensing.md` has what this gains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.finding.fusion import relative_scores
from pipeline.stores.base import Hit, Ranking, SearchResponse


@dataclass(frozen=True, slots=True)
class Beside:
    """Another wording that is searched for beside the question, and its share of each list, 0..1."""

    text: str
    share: float


def blend(own: SearchResponse, other: SearchResponse, *, share: float) -> SearchResponse:
    """Both responses as one, list by list; `other` weighs `share`, `own` the rest.

    BM25's scores depend on a wording's length: both lists are scaled to 0..1 first, and the sum to the range
    of the question's own list. Cosines are added as they are, so that they stay cosines; a list that does
    not name a node gives it the least it has given. No list grows longer.
    """
    return SearchResponse(
        bm25_sections=_scaled(own.bm25_sections, other.bm25_sections, share),
        bm25_sentences=_scaled(own.bm25_sentences, other.bm25_sentences, share),
        dense_sections=_added(own.dense_sections, other.dense_sections, share),
        dense_sentences=_added(own.dense_sentences, other.dense_sentences, share),
    )


def _scaled(own: Ranking, other: Ranking, share: float) -> Ranking:
    scores = _sum(relative_scores(_by_id(own)), relative_scores(_by_id(other)), share)
    range_of = [hit.score for hit in own or other]
    if not range_of:
        return ()
    low, high = min(range_of), max(range_of)
    return _ranked(own, other, {node: low + score * (high - low) for node, score in scores.items()})


def _added(own: Ranking, other: Ranking, share: float) -> Ranking:
    return _ranked(own, other, _sum(_by_id(own), _by_id(other), share))


def _sum(own: Mapping[str, float], other: Mapping[str, float], share: float) -> dict[str, float]:
    """The weighted sum of two lists of id → score; where one is empty, the other stands for it."""
    if not own or not other:
        return dict(own or other)
    least, least_other = min(own.values()), min(other.values())
    return {
        node: (1 - share) * own.get(node, least) + share * other.get(node, least_other)
        for node in {**own, **other}
    }


def _by_id(ranking: Ranking) -> dict[str, float]:
    return {hit.node_id: hit.score for hit in ranking}


def _ranked(own: Ranking, other: Ranking, scores: Mapping[str, float]) -> Ranking:
    """The best hits by the new scores, as many as the longer list had; ties break by id."""
    sections = {hit.node_id: hit.section_id for hit in (*own, *other)}
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[: max(len(own), len(other))]
    return tuple(Hit(node, sections[node], score) for node, score in best)
