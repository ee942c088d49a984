"""Fusion: four rankings of two levels become one ranking of sections, by relative score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.stores.base import Hit, SearchResponse

LISTS = ("bm25_sections", "bm25_sentences", "dense_sections", "dense_sentences")
SENTENCE_LISTS = ("bm25_sentences", "dense_sentences")
FOREIGN_ALPHA = 0.2  # weight of the dense lists if no document is in a language of the embedding model
BM25_SECTIONS, DENSE_SECTIONS = 0.75, 0.375  # sections' share of each kind (0947400e); sentences get the rest
STANDING_IN = 0.03  # subtracted from a sentence's cosine if the sentence stands in for its section


class Fused(NamedTuple):
    """One section or sentence after fusion, and its score."""

    id: str
    score: float


def alpha_for(alpha: float, documents: Mapping[str, int], languages: frozenset[str] | None) -> float:
    """Return `alpha`, lowered towards `FOREIGN_ALPHA` by the share of documents in none of the `languages`.

    `documents` counts documents by language. `languages` are the model's; None (unknown) keeps `alpha`.
    """
    if languages is None or not documents:
        return alpha
    foreign = sum(count for language, count in documents.items() if language not in languages)
    return alpha + min(0.0, FOREIGN_ALPHA - alpha) * foreign / sum(documents.values())


def list_weights(alpha: float) -> dict[str, float]:
    """Return the weight of each list; they add up to 1, of which the dense lists get `alpha`, 0..1.

    BM25 is more reliable on sections, a small embedding model on sentences. Shares of .75 and .375 have
    nDCG@10 .744 on SciFact train and .845 on MTRAG-UN, equal shares .740 and .840.
    """
    return {
        "bm25_sections": (1 - alpha) * BM25_SECTIONS,
        "bm25_sentences": (1 - alpha) * (1 - BM25_SECTIONS),
        "dense_sections": alpha * DENSE_SECTIONS,
        "dense_sentences": alpha * (1 - DENSE_SECTIONS),
    }


def fuse_sections(response: SearchResponse, *, weights: Mapping[str, float]) -> list[Fused]:
    """Return sections by weighted relative score, best first; in each list a section's best sentence counts.

    Adding up a section's sentences instead lost .03 to .05 nDCG@10 on two collections. A section's vector is
    that of its opening: if the list of dense sections lacks a section, its best dense sentence stands in.
    """
    listed = {hit.section_id for hit in response.dense_sections}
    others = (hit for hit in response.dense_sentences if hit.section_id not in listed)
    standing_in = [hit._replace(score=hit.score - STANDING_IN) for hit in others]
    whole = replace(response, dense_sections=(*response.dense_sections, *standing_in))
    return _fuse(whole, LISTS, weights, by=attrgetter("section_id"))


def sentence_scores(response: SearchResponse, *, weights: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Return the fused score of each sentence in the two sentence lists, by section id, then sentence id."""
    section_of = {hit.node_id: hit.section_id for name in SENTENCE_LISTS for hit in getattr(response, name)}
    scores: dict[str, dict[str, float]] = {}
    for item in _fuse(response, SENTENCE_LISTS, weights, by=attrgetter("node_id")):
        scores.setdefault(section_of[item.id], {})[item.id] = item.score
    return scores


def relative_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, scaled to 0..1 by their minimum and maximum; if all are equal, all become 1."""
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    return {node_id: (score - low) / (high - low) if high > low else 1.0 for node_id, score in scores.items()}


def sigmoid(logits: float | NDArray[Any]) -> NDArray[np.float64]:
    """Return the logistic function of the logits, 0..1; logits are clipped to -60..60."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))))


def _fuse(
    response: SearchResponse, lists: Sequence[str], weights: Mapping[str, float], *, by: Callable[[Hit], str]
) -> list[Fused]:
    """Return the ids (`by(hit)`) by the weighted sum of relative scores, best first; ties break by id.

    An id's best score in a list counts; an id that is not in a list gets 0 from it.
    """
    scores: dict[str, float] = {}
    for name in lists:
        worst_first = sorted(getattr(response, name) if weights[name] else (), key=attrgetter("score"))
        for node_id, relative in relative_scores({by(hit): hit.score for hit in worst_first}).items():
            scores[node_id] = scores.get(node_id, 0.0) + weights[name] * relative
    return sorted(map(Fused._make, scores.items()), key=lambda item: (-item.score, item.id))
