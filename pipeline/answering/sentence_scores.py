"""The probability that each leaf (sentence, row, step, code block) of the passages answers a question.

The weights were last chosen at d2f21e0e, on the questions that `docs/decisions/quoting.md` names.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import content_terms, leaf_terms, share
from pipeline.answering.blocks import PassageLeaves

Floats = NDArray[np.float64]

WEIGHTS: Mapping[str, float] = {
    "coverage": 1.4,  # share of the question's terms in the leaf
    "section": 2.7,  # score of the leaf's section, as a share of the best passage's
    "search": 2.0,  # score of the leaf in the search, as a share of the best leaf's
    "length": 0.6,  # logarithm of 1 + its length in words (of `WORD` characters)
}
SIGNALS = tuple(WEIGHTS)
WORD, MOST_WORDS = 6, 60  # characters of a word; more words do not raise the score


def sentence_chances(signals: Floats, found: Sequence[PassageLeaves]) -> list[Floats]:
    """Return for each passage the chances of its leaves, shape (leaves,); all passages add up to 1."""
    logits = signals @ np.array([*WEIGHTS.values()])
    raised = np.exp(logits - logits.max())
    return np.split(raised / raised.sum(), list(accumulate(len(item.leaves) for item in found))[:-1])


def sentence_signals(question: str, found: Sequence[PassageLeaves]) -> Floats:
    """Return the signals of all leaves of all passages, in order, shape (leaves, len(`SIGNALS`))."""
    terms, leaves = content_terms(question), [leaf for item in found for leaf in item.leaves]
    hits = {hit.node.node_id: hit.score for item in found for hit in item.passage.sentences}
    sections = [item.passage.score_of(leaf.section_id) for item in found for leaf in item.leaves]
    columns = (
        [share(terms, leaf_terms(leaf)) for leaf in leaves],
        _shares(sections, [item.passage.score for item in found]),
        _shares([hits.get(leaf.node_id, 0.0) for leaf in leaves], hits.values()),
        [math.log1p(min(len(leaf.text) / WORD, MOST_WORDS)) for leaf in leaves],
    )
    return np.column_stack(columns).astype(np.float64)


def _shares(scores: Sequence[float], all_scores: Collection[float]) -> list[float]:
    best = max(all_scores, default=0.0) or 1.0
    return [score / best for score in scores]
