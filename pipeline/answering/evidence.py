"""What an answer may rest on: every sentence of the passages that the model was given."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pipeline.analysis import analyse
from pipeline.answer import Passage
from pipeline.answering.facts import Facts, facts_of
from pipeline.finding.passages import passage_leaves
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector
from pipeline.terms import leaf_terms


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
        self._facts: dict[str, Facts] = {}

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

    def facts(self, leaf: Leaf) -> Facts:
        """The numbers, ids and commands of a leaf."""
        if leaf.node.node_id not in self._facts:
            self._facts[leaf.node.node_id] = facts_of(leaf.text)
        return self._facts[leaf.node.node_id]

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
