"""How likely each sentence, row, step or code block of the passages is to answer a question.

docs/decisions/quoting.md says on which questions the weights were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import content_terms, leaf_terms, share
from pipeline.answering.blocks import PassageLeaves
from pipeline.stores.base import Vector

Floats = NDArray[np.float64]

WEIGHTS: Mapping[str, float] = {
    "closeness": 2.2,  # cosine of the leaf and the question
    "neighbour": 1.0,  # the higher cosine of the leaves before and after it in its section
    "coverage": 1.4,  # share in the leaf of the question's terms that any leaf has
    "section": 2.5,  # score of the leaf's section, as a share of the best passage's
    "search": 1.5,  # score of the leaf in the search, as a share of the best leaf's
    "length": 0.6,  # logarithm of its length in words
}
SIGNALS = tuple(WEIGHTS)
WORD, MOST_WORDS = 6, 60  # characters of a word; a leaf of more words is no likelier to answer


def sentence_chances(signals: Floats, found: Sequence[PassageLeaves]) -> list[Floats]:
    """Return for each passage its leaves' chances to answer, shape (leaves,); all add up to 1."""
    logits = signals @ np.array([*WEIGHTS.values()])
    raised = np.exp(logits - logits.max())
    return np.split(raised / raised.sum(), list(accumulate(len(item.leaves) for item in found))[:-1])


def sentence_signals(
    question: str, found: Sequence[PassageLeaves], vectors: Mapping[str, Vector], query: Vector
) -> Floats:
    """Return the signals of all leaves, passage by passage, shape (leaves, `SIGNALS`)."""
    leaves = [leaf for item in found for leaf in item.leaves]
    terms = frozenset[str]().union(*map(leaf_terms, leaves)).intersection(content_terms(question))
    near = [float(vectors[leaf.node_id] @ query) if leaf.node_id in vectors else 0.0 for leaf in leaves]
    hits = {hit.node.node_id: hit.score for item in found for hit in item.passage.sentences}
    sections = [item.passage.score_of(leaf.section_id) for item in found for leaf in item.leaves]
    columns = (
        near,
        _neighbours([leaf.section_id for leaf in leaves], near),
        [share(terms, leaf_terms(leaf)) for leaf in leaves],
        _shares(sections, [item.passage.score for item in found]),
        _shares([hits.get(leaf.node_id, 0.0) for leaf in leaves], hits.values()),
        [math.log1p(min(len(leaf.text) / WORD, MOST_WORDS)) for leaf in leaves],
    )
    return np.column_stack(columns).astype(np.float64)


def _neighbours(sections: Sequence[str], near: Sequence[float]) -> list[float]:
    """Return the higher closeness of the leaves beside each one; its own where its section has no other."""
    beside = ([place - 1, place + 1] for place in range(len(near)))
    return [
        max(
            (near[at] for at in two if 0 <= at < len(near) and sections[at] == sections[place]),
            default=near[place],
        )
        for place, two in enumerate(beside)
    ]


def _shares(scores: Sequence[float], all_scores: Collection[float]) -> list[float]:
    best = max(all_scores, default=0.0) or 1.0
    return [score / best for score in scores]
