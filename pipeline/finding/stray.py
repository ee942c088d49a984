"""Stray words: what a question asks for that no document speaks of.

A paraphrase has words that the documents lack, too, but they point to what is meant ("dead" for "lost"):
without one, the question comes no nearer to the passages. "Who manufactured the fuel cells" does,
without "manufactured".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.analysis import analyse, embedding_question
from pipeline.answer import Passage
from pipeline.finding.signals import READ_PASSAGES
from pipeline.models.base import Encoder
from pipeline.stores.base import SentenceIndex

MOST_WORDS = 4
"""That are left out in turn, the first ones: each is a text to embed."""


def stray_word(
    question: str,
    unknown: Iterable[str],
    passages: Sequence[Passage],
    *,
    sentences: SentenceIndex,
    encoder: Encoder,
) -> float:
    """How much nearer the nearest found sentence of the first passages is without one of the `unknown` terms.

    That is a difference of cosines, of the term that makes the most of it; 0 at least, and where there is
    nothing to compare. Raises `StoreError` and `ModelError`.
    """
    shorter = without_each(question, unknown)[:MOST_WORDS]
    found = [hit.node.node_id for passage in passages[:READ_PASSAGES] for hit in passage.sentences]
    near = list(sentences.vectors(found).values()) if shorter and found else []
    if not near:
        return 0.0
    whole, *others = encoder.encode_passages([embedding_question(text) for text in (question, *shorter)])
    nearest = max(float(vector @ whole) for vector in near)
    return max(0.0, *(float(vector @ other) - nearest for vector in near for other in others))


def without_each(question: str, terms: Iterable[str]) -> list[str]:
    """The question without each of these terms in its turn, in the question's order."""
    wanted = frozenset(terms)
    words = [(word, wanted.intersection(analyse(word))) for word in question.split()]
    left_out = dict.fromkeys(term for _, own in words for term in sorted(own))
    shorter = (" ".join(word for word, own in words if term not in own) for term in left_out)
    return [text for text in shorter if text]
