"""What the passages have for a sentence of an answer, and what tells whether they bear it out.

`docs/decisions/citation-verification.md` says what else was tried.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import analyse
from pipeline.answer import Passage
from pipeline.answering.literals import Literals, literals_of, missing_numbers
from pipeline.finding.passages import passage_leaves
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector
from pipeline.terms import content_terms, leaf_terms


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One sentence of a numbered passage, with the terms of its text and of what stands above it."""

    number: int  # of its passage
    node: Node
    terms: frozenset[str]  # of its text and its table's header
    above: frozenset[str]  # of its headings and its file's name

    @property
    def text(self) -> str:
        """As the file has it, under its table's header."""
        header = self.node.metadata.get("header", "")
        return f"{header}\n{self.node.text}" if header else self.node.text

    @property
    def headings(self) -> str:
        """Its file's name and the headings that it stands under."""
        return _headings(self.node)


class Evidence:
    """The leaves of numbered passages, in reading order passage by passage."""

    def __init__(self, leaves: Sequence[tuple[int, Node]], vectors: Mapping[str, Vector]) -> None:
        above = {_headings(node): frozenset[str]() for _, node in leaves}  # many leaves share them
        above = {headings: frozenset(analyse(headings)) for headings in above}
        self.leaves = [
            Leaf(number, node, frozenset(leaf_terms(node)), above[_headings(node)]) for number, node in leaves
        ]
        self._vectors = vectors
        self._literals: dict[str, Literals] = {}

    def of(self, number: int) -> Evidence:
        """One passage alone."""
        leaves = [(leaf.number, leaf.node) for leaf in self.leaves if leaf.number == number]
        return Evidence(leaves, self._vectors)

    @cached_property
    def text(self) -> str:
        """All of it, with its headings."""
        return "\n".join([*(leaf.text for leaf in self.leaves), *{leaf.headings for leaf in self.leaves}])

    def closeness(self, vector: Vector) -> NDArray[np.float32]:
        """The cosine of each leaf and a sentence, shape (leaves,); 0 where there is no vector of a leaf."""
        known = [self._vectors.get(leaf.node.node_id) for leaf in self.leaves]
        return np.array([0.0 if one is None else np.dot(one, vector) for one in known], dtype=np.float32)

    def share(self, found: Collection[str], terms: Collection[str]) -> float:
        """What the terms that were found weigh among all of a sentence, 0..1."""
        total = sum(map(self._weight, terms))
        return sum(map(self._weight, found)) / total if total else 0.0

    def literals(self, leaf: Leaf) -> Literals:
        """The numbers, ids and commands of a leaf."""
        if leaf.node.node_id not in self._literals:
            self._literals[leaf.node.node_id] = literals_of(leaf.text)
        return self._literals[leaf.node.node_id]

    @cached_property
    def _counts(self) -> Counter[str]:
        """In how many leaves each term is."""
        return Counter(term for leaf in self.leaves for term in leaf.terms)

    def _weight(self, term: str) -> float:
        """How much a term tells of which leaf is meant: log(1 + (1 + leaves) / (1 + leaves with it))."""
        return math.log(1 + (1 + len(self.leaves)) / (1 + self._counts[term]))


def evidence_of(passages: Mapping[int, Passage], *, store: DocumentStore) -> Evidence:
    """The leaves of passages by their numbers, fetched at once with their vectors."""
    own = passage_leaves([*passages.values()], store=store)
    leaves = [
        (number, leaf)
        for number, passage in passages.items()
        for leaf in own.get(passage.section.node_id, [])
    ]
    return Evidence(leaves, store.sentences.vectors([leaf.node_id for _, leaf in leaves]))


def _headings(node: Node) -> str:
    return "\n".join([node.metadata.get("source", ""), *node.metadata.get("heading_path", ())])


MOST_LEAVES = 3
WORTH_ADDING = 0.1  # share of the sentence's words, weighed, that a further leaf must add
TOPICAL = 0.55  # of the best leaf's score; a leaf of another topic lends no words
NEAR = 2  # leaves before and after the best one are of its topic
LENDING = 0.15  # share of the sentence's words, weighed, that a leaf must have to lend its numbers
LEAST_COVERED = 0.4  # a sentence with fewer of its words in the passages is likely of something else
LEAST_CLOSE = 0.55  # and so is one that is no closer than this to any leaf


@dataclass(frozen=True, slots=True)
class Signals:
    """What was measured of one sentence."""

    closeness: float  # the highest cosine of a leaf, 0..1
    coverage: float  # share of its words, weighed, in the leaves that it rests on
    leaves: tuple[Leaf, ...]  # that it rests on, best first
    numbers: tuple[str, ...] = ()  # that these lack
    names: tuple[str, ...] = ()  # ids and versions that these lack, commands that no passage has

    @property
    def values(self) -> dict[str, float]:
        """What the calibrated model weighs, each 0..1; more of it means less support."""
        return {
            "numbers": float(bool(self.numbers)),
            "names": float(bool(self.names)),
            "uncovered": max(0.0, 1 - self.coverage / LEAST_COVERED),
            "far": max(0.0, 1 - self.closeness / LEAST_CLOSE),
        }

    @property
    def missing(self) -> tuple[str, ...]:
        """What the passages do not say, in words."""
        return (*self.numbers, *self.names)


def signals_of(sentence: str, vector: Vector, evidence: Evidence) -> Signals:
    """The signals of a sentence without its markers; `evidence` has a leaf at least."""
    terms = content_terms(sentence)
    closeness = evidence.closeness(vector)
    stated = literals_of(sentence)
    leaves = _resting_on(terms, closeness, evidence)
    leaves += _with_numbers(stated, leaves, terms, evidence)
    texts = [*(leaf.text for leaf in leaves), *dict.fromkeys(leaf.headings for leaf in leaves)]
    covered = frozenset().union(*(leaf.terms | leaf.above for leaf in leaves))
    return Signals(
        closeness=max(0.0, float(closeness.max())),
        coverage=evidence.share(covered.intersection(terms), terms),
        leaves=tuple(leaves),
        numbers=tuple(missing_numbers(stated, literals_of("\n".join(texts)))),
        names=_missing_names(stated, texts, evidence),
    )


def leaf_scores(terms: Collection[str], closeness: NDArray[np.float32], evidence: Evidence) -> list[float]:
    """Each leaf's score: its cosine and the share of the sentence's words that it has."""
    return [
        float(near) + evidence.share(leaf.terms.intersection(terms), terms)
        for leaf, near in zip(evidence.leaves, closeness, strict=True)
    ]


def _resting_on(terms: Sequence[str], closeness: NDArray[np.float32], evidence: Evidence) -> list[Leaf]:
    """The best leaf, and those of its topic that add words to it."""
    scores = leaf_scores(terms, closeness, evidence)
    best = max(range(len(scores)), key=scores.__getitem__)
    first = evidence.leaves[best]
    topical = [
        leaf
        for index, (leaf, score) in enumerate(zip(evidence.leaves, scores, strict=True))
        if score >= TOPICAL * scores[best] or (abs(index - best) <= NEAR and leaf.number == first.number)
    ]
    chosen, open_terms = [first], set(terms) - first.terms - first.above
    while len(chosen) < MOST_LEAVES:
        added = {id(leaf): evidence.share(leaf.terms & open_terms, terms) for leaf in topical}
        leaf = max(topical, key=lambda leaf: added[id(leaf)])
        if added[id(leaf)] < WORTH_ADDING:
            break
        chosen.append(leaf)
        open_terms -= leaf.terms
    return chosen


def _with_numbers(
    stated: Literals, found: Sequence[Leaf], terms: Collection[str], evidence: Evidence
) -> list[Leaf]:
    """Return the leaf that has most of the numbers which the found ones lack; [] where none has any.

    It must have some of the sentence's other words, too.
    """
    lacking = stated.numbers.difference(*(evidence.literals(leaf).numbers for leaf in found))
    words = {term for term in terms if not term[:1].isdigit()}
    best: tuple[tuple[int, float], Leaf] | None = None
    for leaf in evidence.leaves:
        lent = len(lacking & evidence.literals(leaf).numbers)
        if not lent or not words & leaf.terms:
            continue
        shared = evidence.share(words & (leaf.terms | leaf.above), words)
        if shared >= LENDING and (best is None or (lent, shared) > best[0]):
            best = (lent, shared), leaf
    return [best[1]] if best else []


def _missing_names(stated: Literals, texts: Sequence[str], evidence: Evidence) -> tuple[str, ...]:
    flat = _flat(texts)
    return (
        *sorted(name.upper() for name in stated.identifiers if not _stands_in(name, flat)),
        *sorted(command for command in stated.commands if not _stands_in(command, _flat([evidence.text]))),
    )


def _stands_in(name: str, text: str) -> bool:
    """True where the text has the name by itself, not as part of another (P-1 in P-10)."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _flat(texts: Iterable[str]) -> str:
    return " ".join("\n".join(texts).casefold().split())
