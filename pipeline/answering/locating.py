"""Which sentences of a passage a sentence of the answer rests on: a marker becomes an exact span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.answer import Passage
from pipeline.answering.recent_vectors import passage_vectors
from pipeline.finding.passages import passage_leaves
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector
from pipeline.terms import content_terms, leaf_terms

ENOUGH = 0.7  # a span with this share of the sentence's words needs no second one
WORTH_ADDING = 0.2  # share of the words that a second span must add
MOST_SPANS = 2


class SentenceLocator:
    """Finds the leaves of given passages that support a sentence; fetches all of them at once."""

    def __init__(self, passages: Sequence[Passage], *, store: DocumentStore, encoder: Encoder) -> None:
        self._encoder = encoder
        self._terms: dict[str, set[str]] = {}  # by leaf: many sentences are compared with each
        self._leaves = passage_leaves(passages, store=store)
        self._vectors: Mapping[str, Vector] = store.sentences.vectors(
            [leaf.node_id for leaves in self._leaves.values() for leaf in leaves]
        )

    def __call__(self, sentence: str, passage: Passage) -> list[Node]:
        """The best leaf, and a second one where it adds words that the first lacks; in reading order."""
        leaves = self._leaves.get(passage.section.node_id, [])
        if not leaves:
            return []
        terms = set(content_terms(sentence))
        # Embedded as a passage: it is a statement, and verification compares it the same way.
        (vector,) = passage_vectors([sentence], encoder=self._encoder)
        ranked = sorted(leaves, key=lambda leaf: -self._score(leaf, terms, vector))
        chosen, covered = [ranked[0]], self._shared(terms, ranked[0])
        for leaf in ranked[1:]:
            if len(chosen) == MOST_SPANS or len(covered) >= ENOUGH * len(terms):
                break
            added = self._shared(terms, leaf) - covered
            if len(added) >= WORTH_ADDING * len(terms):
                chosen.append(leaf)
                covered |= added
        return sorted(chosen, key=lambda leaf: leaf.start_char_idx or 0)

    def _score(self, leaf: Node, terms: set[str], vector: Vector) -> float:
        closeness = (
            float(np.dot(self._vectors[leaf.node_id], vector)) if leaf.node_id in self._vectors else 0.0
        )
        return closeness + (len(self._shared(terms, leaf)) / len(terms) if terms else 0.0)

    def _shared(self, terms: set[str], leaf: Node) -> set[str]:
        """Those of the terms that the leaf has."""
        if leaf.node_id not in self._terms:
            self._terms[leaf.node_id] = leaf_terms(leaf)
        return terms & self._terms[leaf.node_id]
