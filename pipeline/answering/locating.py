"""Which sentences of the passages a sentence of the answer rests on: a marker becomes exact spans."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.answer import Passage
from pipeline.answering.citations import Place
from pipeline.answering.evidence import Leaf
from pipeline.answering.recent_vectors import passage_vectors
from pipeline.answering.signals import leaf_scores
from pipeline.answering.verification import Judge, Judgement
from pipeline.models.base import Encoder
from pipeline.terms import content_terms

ENOUGH = 0.7  # a span with this share of the sentence's words needs no second one
WORTH_ADDING = 0.2  # share of the words that a second span must add
MOST_SPANS = 2
NEARLY = 0.85  # of what all passages have of a sentence's words: a passage with that supports it as well


class SentenceLocator:
    """Finds the leaves that a marker stands for.

    They are in the passage that the marker names, unless that does not bear the sentence out and another one
    does: then they are what the sentence rests on there.
    """

    def __init__(self, passages: Mapping[int, Passage], *, judge: Judge, encoder: Encoder) -> None:
        self._passages = passages
        self._judge = judge
        self._encoder = encoder

    def __call__(self, sentence: str, number: int) -> list[Place]:
        """The best leaf, and a second one where it adds words that the first lacks; in reading order."""
        leaves = self._leaves(sentence, number)
        return [Place(self._passages[leaf.number], leaf.node) for leaf in leaves]

    def _leaves(self, sentence: str, number: int) -> list[Leaf]:
        """Those of the passage that bears the sentence out: the one that is named, wherever it can be."""
        judgement = self._judge(sentence)
        if judgement.supported and not self._bears_out(sentence, number, judgement):
            number = judgement.leaves[0].number
        return self._best(sentence, number)

    def _bears_out(self, sentence: str, number: int, judgement: Judgement) -> bool:
        """True where the passage has a share in what the sentence rests on, or would do as well."""
        if number in {leaf.number for leaf in judgement.leaves}:
            return True
        alone = self._judge(sentence, number=number)
        return alone.supported and alone.coverage >= NEARLY * judgement.coverage

    def _best(self, sentence: str, number: int) -> list[Leaf]:
        evidence = self._judge.part(number)
        if not evidence.leaves:
            return []
        terms = set(content_terms(sentence))
        # Embedded as a passage: it is a statement, and verification compares it the same way.
        (vector,) = passage_vectors([sentence], encoder=self._encoder)
        scores = leaf_scores(terms, evidence.closeness(vector), evidence)
        ranked = [
            leaf for _, leaf in sorted(zip(scores, evidence.leaves, strict=True), key=lambda one: -one[0])
        ]
        chosen, covered = [ranked[0]], ranked[0].terms & terms
        for leaf in ranked[1:]:
            if len(chosen) == MOST_SPANS or len(covered) >= ENOUGH * len(terms):
                break
            added = leaf.terms & terms - covered
            if len(added) >= WORTH_ADDING * len(terms):
                chosen.append(leaf)
                covered |= added
        return sorted(chosen, key=lambda leaf: leaf.node.start_char_idx or 0)
