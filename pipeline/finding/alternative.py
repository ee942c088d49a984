"""Alternative query: another wording of a question that is searched for with it, as for follow-ups."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.finding.fusion import LISTS, relative_scores
from pipeline.stores.base import Hit, Ranking, SearchResponse


@dataclass(frozen=True, slots=True)
class AlternativeQuery:
    """Another wording of the question, and its share of each list, 0..1."""

    text: str
    share: float


def blend(own: SearchResponse, other: SearchResponse, *, share: float) -> SearchResponse:
    """Both responses as one, list by list; `other` weighs `share`, `own` the rest. No list grows longer.

    BM25's scores depend on a wording's length and are scaled to 0..1 first; cosines stay cosines.
    """
    return SearchResponse(**{name: _blended(name, own, other, share) for name in LISTS})


def _blended(name: str, own: SearchResponse, other: SearchResponse, share: float) -> Ranking:
    """The weighted sum of two rankings: a node missing from one has its lowest score there."""
    rankings: tuple[Ranking, Ranking] = getattr(own, name), getattr(other, name)
    if not all(rankings):
        return rankings[0] or rankings[1]
    one, two = ({hit.node_id: hit.score for hit in ranking} for ranking in rankings)
    if name.startswith("bm25"):
        one, two = relative_scores(one), relative_scores(two)
    low, low_other = min(one.values()), min(two.values())
    sections = {hit.node_id: hit.section_id for ranking in rankings for hit in ranking}
    hits = (
        Hit(node, section, (1 - share) * one.get(node, low) + share * two.get(node, low_other))
        for node, section in sections.items()
    )
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.node_id))[: max(map(len, rankings))])
