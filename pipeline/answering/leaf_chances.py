"""Which leaves answer: signals of each sentence, row, step and code block, weighed into one chance.

The weights were learned by `python -m evals.calibration.quotes`; docs/decisions/quoting.md says on what.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.answer import Passage
from pipeline.answering.section_blocks import form_of
from pipeline.nodes import Node
from pipeline.stores.base import Vector
from pipeline.terms import content_terms, leaf_terms

Floats = NDArray[np.float64]
Terms = frozenset[str]

WEIGHTS: Mapping[str, float] = {
    "closeness": 2.3,
    "near": 1.3,
    "coverage": 1.35,
    "passage": 2.4,
    "fused": 2.2,
    "length": 0.46,
    "short": -0.35,
    "header_row": -0.67,
    "code": -0.49,
    "markup": -0.57,
}
SIGNALS = tuple(WEIGHTS)
"""Names of the signals, in the order of `leaf_signals`' columns."""

LONGEST = 60  # words: a longer leaf is no likelier to answer
SHORT = 5  # words
LEAST_WEIGHT = 0.1  # of a term that nearly every leaf has


@dataclass(frozen=True, slots=True)
class Candidate:
    """A leaf that may answer, and the passage that it was found in."""

    leaf: Node
    passage: Passage
    section: int  # which section it is in: neighbours are of the same one

    @property
    def score(self) -> float:
        """That of its own section, also where a parent stands for it."""
        return self.passage.score_of(self.leaf.section_id)


def chances(found: Floats, weights: Mapping[str, float] | None = None) -> Floats:
    """For each leaf the chance that it is the one that answers; they add up to 1. Shape (candidates,).

    `found` are the leaves' signals; the weights are the bundled ones where none are given.
    """
    weights = WEIGHTS if weights is None else weights
    logits = found @ np.array([weights[name] for name in SIGNALS])
    raised = np.exp(logits - logits.max())
    return np.asarray(raised / raised.sum())


def leaf_signals(
    question: str, candidates: Sequence[Candidate], vectors: Mapping[str, Vector], query: Vector
) -> Floats:
    """The signals of each leaf, shape (candidates, `SIGNALS`)."""
    closeness = np.array(
        [
            float(np.dot(vectors[item.leaf.node_id], query)) if item.leaf.node_id in vectors else 0.0
            for item in candidates
        ]
    )
    parts = (
        closeness,
        _near(candidates, closeness),
        _coverage(question, candidates),
        _search_signals(candidates),
        _form_signals(candidates),
    )
    return np.column_stack(parts)


def _near(candidates: Sequence[Candidate], closeness: Floats) -> Floats:
    """The higher cosine of the leaves before and after in the same section; a leaf alone has its own."""
    sections = np.array([item.section for item in candidates])
    before, after = np.full((2, len(candidates)), -np.inf)
    same = sections[1:] == sections[:-1]
    before[1:] = np.where(same, closeness[:-1], -np.inf)
    after[:-1] = np.where(same, closeness[1:], -np.inf)
    near = np.maximum(before, after)
    return np.where(np.isfinite(near), near, closeness)


def _coverage(question: str, candidates: Sequence[Candidate]) -> Floats:
    """The share of the question's terms in the leaf; a term weighs the more, the fewer leaves have it."""
    terms = content_terms(question)
    wanted = frozenset(terms)
    words = [wanted & leaf_terms(item.leaf) for item in candidates]
    weights = _term_weights(terms, words)
    return np.array([_share(weights, present) for present in words])


def _term_weights(terms: Sequence[str], words: Sequence[Terms]) -> dict[str, float]:
    """Inverse document frequency over the leaves at hand; 0 for a term that none of them has."""
    having = Counter(term for present in words for term in present)
    return {
        term: max(LEAST_WEIGHT, math.log((len(words) + 1) / (having[term] + 0.5))) if having[term] else 0.0
        for term in terms
    }


def _share(weights: Mapping[str, float], present: Collection[str]) -> float:
    return sum(weights.get(term, 0.0) for term in present) / (sum(weights.values()) or 1.0)


def _search_signals(candidates: Sequence[Candidate]) -> Floats:
    """The passage's score and the leaf's fused one, each as a share of the best."""
    fused = {hit.node.node_id: hit.score for item in candidates for hit in item.passage.sentences}
    best_fused = max(fused.values(), default=0.0) or 1.0
    best = max(item.score for item in candidates) or 1.0
    return np.array(
        [(item.score / best, fused.get(item.leaf.node_id, 0.0) / best_fused) for item in candidates]
    )


def _form_signals(candidates: Sequence[Candidate]) -> Floats:
    """What sort of leaf it is."""
    rows = []
    for leaf in (item.leaf for item in candidates):
        kind, words = leaf.metadata["kind"], len(leaf.text.split())
        rows.append(
            (
                math.log1p(min(words, LONGEST)),
                words < SHORT,
                kind == "table_row" and "header" not in leaf.metadata,
                kind == "code",
                kind == "html" or not form_of(leaf).says,
            )
        )
    return np.array(rows, dtype=np.float64)
