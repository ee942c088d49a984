"""Verification: find the source sentences that support a sentence of an answer.

A citation marker of the model is only a hint: a sentence cites the source sentences that support it, with or
without a marker. `docs/decisions/citation-verification.md` has the fit of the weights and its accuracy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.analysis import analyse, content_terms, leaf_terms
from pipeline.answer import Passage
from pipeline.answering.literals import Literals, literals_of, missing_names, missing_numbers
from pipeline.finding.fusion import sigmoid
from pipeline.finding.passages import passage_leaves
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector

# Fitted at b1ae31b2 on the development half of the labelled sentences and on three other collections.
WEIGHTS = {"numbers": -4.6, "names": -5.0, "uncovered": -3.2, "far": -2.8}
INTERCEPT = 1.7
THRESHOLD = 0.65
LEAST_COVERED = 0.4  # a sentence with fewer of its words in the sources is likely about something else
LEAST_CLOSE = 0.55  # so is a sentence whose highest cosine with a source sentence is lower
HINT = 0.15  # added to the scores of sentences of sources that the model cited
MOST_LEAVES = 3  # source sentences that one sentence of an answer may rest on
WORTH_CITING = 0.3  # weighted share of the sentence's words that a second citation must add
FEWEST_WORDS = 4  # a shorter line is a label


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One sentence of a numbered source, with its terms; `above` has those of its headings and file name."""

    number: int
    passage: Passage
    node: Node
    terms: frozenset[str]
    above: frozenset[str]
    text: str  # with its table's header, headings and file name


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well the sources support a sentence, 0..1: `cited` if supported, else what is `missing`."""

    score: float
    supported: bool = False
    cited: tuple[Leaf, ...] = ()
    missing: tuple[str, ...] = ()  # numbers, ids and commands that the sources lack


class Sources:
    """The sentences of numbered sources that have vectors; `vectors` has shape (sentences, dimensions)."""

    def __init__(
        self, leaves: Sequence[tuple[int, Passage, Node]], vectors: Mapping[str, Vector], encoder: Encoder
    ) -> None:
        known = [leaf for leaf in leaves if leaf[2].node_id in vectors]
        self.leaves = [_leaf(number, passage, node) for number, passage, node in known]
        self.vectors = np.array([vectors[node.node_id] for _, _, node in known], dtype=np.float32)
        self.text = "\n".join(leaf.text for leaf in self.leaves)
        self.encoder = encoder
        self._counts = Counter(term for leaf in self.leaves for term in leaf.terms)

    @classmethod
    def of(cls, passages: Mapping[int, Passage], *, store: DocumentStore, encoder: Encoder) -> Sources:
        """Fetch the sentences and vectors of passages, given by source number, from the store."""
        own = passage_leaves([*passages.values()], store=store)
        leaves = [
            (number, passage, node)
            for number, passage in passages.items()
            for node in own.get(passage.section.node_id, ())
        ]
        return cls(leaves, store.vectors([node.node_id for _, _, node in leaves]), encoder)

    def judge(self, sentence: str, numbers: Collection[int] = ()) -> Judgement:
        """Judge a sentence without markers; `numbers` are the sources that the model cited for it."""
        if not self.leaves:
            return Judgement(0.0)
        terms, stated = content_terms(sentence), literals_of(sentence)
        (vector,) = self.encoder.encode_passages([sentence])
        near = self.vectors @ vector
        leaves = self._best(terms, near, numbers)
        text = "\n".join(leaf.text for leaf in leaves)
        given = literals_of(text)
        lacking = missing_numbers(stated, given)
        names = missing_names(stated, given, text, self.text)
        covered = frozenset().union(*(leaf.terms | leaf.above for leaf in leaves))
        share = self._share(covered, terms)
        values = {
            "numbers": float(bool(lacking)),
            "names": float(bool(names)),
            "uncovered": max(0.0, 1 - share / LEAST_COVERED),
            "far": max(0.0, 1 - max(float(near.max()), share) / LEAST_CLOSE),
        }
        logit = INTERCEPT + sum(weight * values[name] for name, weight in WEIGHTS.items())
        score = float(sigmoid(np.asarray(logit)))
        if score < THRESHOLD:
            return Judgement(score, missing=(*lacking, *names))
        exact = sorted(leaves, key=lambda leaf: len(_missing(stated, leaf.passage)))
        return Judgement(score, supported=True, cited=self._cited(exact, terms))

    def _best(self, terms: Sequence[str], near: Vector, numbers: Collection[int]) -> list[Leaf]:
        """Return the `MOST_LEAVES` source sentences with the highest cosine plus share of words plus hint."""
        shares = [self._share(leaf.terms, terms) + HINT * (leaf.number in numbers) for leaf in self.leaves]
        order = np.argsort(-(near + np.array(shares, dtype=np.float32)), kind="stable")
        return [self.leaves[index] for index in order[:MOST_LEAVES]]

    def _cited(self, leaves: Sequence[Leaf], terms: Sequence[str]) -> tuple[Leaf, ...]:
        """Return the best source sentence, and the next one that adds enough words, if any."""
        left = frozenset(terms) - leaves[0].terms
        adding = [leaf for leaf in leaves[1:] if self._share(leaf.terms & left, terms) >= WORTH_CITING]
        return (leaves[0], *adding[:1])

    def _share(self, found: Collection[str], terms: Collection[str]) -> float:
        """Return the share of terms found, 0..1; a term in m of n leaves weighs log(1 + (1+n) / (1+m))."""
        size = 1 + len(self.leaves)
        weight = {term: math.log(1 + size / (1 + self._counts[term])) for term in terms}
        return sum(weight[term] for term in terms if term in found) / (sum(weight.values()) or 1.0)


def _missing(stated: Literals, passage: Passage) -> list[str]:
    """Return the numbers, ids and commands of `stated` that a passage and its headings lack."""
    text = "\n".join([passage.section.text, *passage.section.metadata["heading_path"]])
    given = literals_of(text)
    return [*missing_numbers(stated, given), *missing_names(stated, given, text, text)]


def _leaf(number: int, passage: Passage, node: Node) -> Leaf:
    above = "\n".join([node.metadata.get("source", ""), *node.metadata.get("heading_path", ())])
    text = "\n".join([node.metadata.get("header", ""), node.text])
    terms = frozenset(leaf_terms(node)), frozenset(analyse(above))
    return Leaf(number, passage, node, *terms, f"{text}\n{above}")


def states_something(sentence: str) -> bool:
    """Return False for headings, questions, labels, code and lines that introduce others, else True."""
    plain = sentence.strip()
    if plain.endswith(("?", ":", "？", "：")) or plain.startswith(("#", "```", "~~~", "|--", "---")):
        return False
    return len(plain.split()) >= FEWEST_WORDS or not plain.isascii()
