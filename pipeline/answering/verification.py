"""Verification: find the source sentences that support each sentence of an answer, and cite them.

It works while the answer arrives, sentence by sentence. A number in brackets that the model wrote is a hint:
a sentence cites what supports it, whether or not the model marked it. A sentence that nothing supports is
marked. `docs/decisions/citation-verification.md` says how the weights were fitted and what they are worth.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.analysis import analyse, content_terms, leaf_terms
from pipeline.answer import Citation, Passage, Support
from pipeline.answering.citations import (
    citation_of,
    sentences_of,
    with_markers,
    without_links,
    without_markers,
)
from pipeline.answering.literals import Literals, literals_of, missing_names, missing_numbers
from pipeline.asking.translation import Translator
from pipeline.finding.passages import passage_leaves
from pipeline.finding.verdict import sigmoid
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore, Vector

# Fitted at b1ae31b2 on the development half of the labelled sentences and on three other collections.
WEIGHTS = {"numbers": -4.6, "names": -5.0, "uncovered": -3.2, "far": -2.8}
INTERCEPT = 1.7
THRESHOLD = 0.65
LEAST_COVERED = 0.4  # a sentence with fewer of its words in the sources is likely about something else
LEAST_CLOSE = 0.55  # and so is a sentence with a lower highest cosine with a source sentence
HINT = 0.15  # added to the scores of the source that the model named
MOST_LEAVES = 3  # source sentences that one sentence of an answer may rest on
WORTH_CITING = 0.3  # share of the sentence's words, weighted, that a second citation must add
FEWEST_WORDS = 4  # a shorter line is a label
REMEMBERED = 0.6  # share of a sentence's words that memories must have to stand for it
EXACT = re.compile(r"(?<=\s)[A-Z][\w-]*|\S*\d\S*")  # names inside a sentence, numbers
ENDED = re.compile(r"[.!?:|。！？][\"'”’)*_`\]]*$|```$|~~~$")


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One sentence of a numbered source, with its terms and those of the headings above it."""

    number: int
    passage: Passage
    node: Node
    terms: frozenset[str]
    above: frozenset[str]
    text: str  # with its table's header, headings and file name


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well the sources support a sentence, 0..1: well, with what to cite, or not, with what they lack."""

    score: float
    supported: bool = False
    cited: tuple[Leaf, ...] = ()
    missing: tuple[str, ...] = ()  # numbers, ids and commands


class Sources:
    """The sentences of numbered sources, with vectors of shape (sentences, dimensions)."""

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
        """Fetch the sentences of passages by number, and their vectors."""
        own = passage_leaves([*passages.values()], store=store)
        leaves = [
            (number, passage, node)
            for number, passage in passages.items()
            for node in own.get(passage.section.node_id, ())
        ]
        return cls(leaves, store.vectors([node.node_id for _, _, node in leaves]), encoder)

    def judge(self, sentence: str, numbers: Collection[int] = ()) -> Judgement:
        """Judge a sentence without markers; `numbers` are the sources that the model named for it."""
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
        values = {
            "numbers": float(bool(lacking)),
            "names": float(bool(names)),
            "uncovered": max(0.0, 1 - self._share(covered, terms) / LEAST_COVERED),
            "far": max(0.0, 1 - float(near.max()) / LEAST_CLOSE),
        }
        logit = INTERCEPT + sum(weight * values[name] for name, weight in WEIGHTS.items())
        score = float(sigmoid(np.asarray(logit)))
        if score < THRESHOLD:
            return Judgement(score, missing=(*lacking, *names))
        exact = sorted(leaves, key=lambda leaf: len(_missing(stated, leaf.passage)))
        return Judgement(score, supported=True, cited=self._cited(exact, terms))

    def _best(self, terms: Sequence[str], near: Vector, numbers: Collection[int]) -> list[Leaf]:
        """The source sentences with the highest sums of cosine and share of the words, best first."""
        shares = [self._share(leaf.terms, terms) + HINT * (leaf.number in numbers) for leaf in self.leaves]
        order = np.argsort(-(near + np.array(shares, dtype=np.float32)), kind="stable")
        return [self.leaves[index] for index in order[:MOST_LEAVES]]

    def _cited(self, leaves: Sequence[Leaf], terms: Sequence[str]) -> tuple[Leaf, ...]:
        """The best source sentence, and the next one that adds enough words to it."""
        left = frozenset(terms) - leaves[0].terms
        adding = [leaf for leaf in leaves[1:] if self._share(leaf.terms & left, terms) >= WORTH_CITING]
        return (leaves[0], *adding[:1])

    def _share(self, found: Collection[str], terms: Collection[str]) -> float:
        """The share of terms that were found, 0..1; a term weighs log(1 + (1 + n) / (1 + n with it))."""
        size = 1 + len(self.leaves)
        weight = {term: math.log(1 + size / (1 + self._counts[term])) for term in terms}
        return sum(weight[term] for term in terms if term in found) / (sum(weight.values()) or 1.0)


def _missing(stated: Literals, passage: Passage) -> list[str]:
    """The stated numbers, ids and commands that a passage and its headings lack."""
    text = "\n".join([passage.section.text, *passage.section.metadata["heading_path"]])
    given = literals_of(text)
    return [*missing_numbers(stated, given), *missing_names(stated, given, text, text)]


def _leaf(number: int, passage: Passage, node: Node) -> Leaf:
    above = "\n".join([node.metadata.get("source", ""), *node.metadata.get("heading_path", ())])
    text = "\n".join([node.metadata.get("header", ""), node.text])
    terms = frozenset(leaf_terms(node)), frozenset(analyse(above))
    return Leaf(number, passage, node, *terms, f"{text}\n{above}")


class CitedAnswer:
    """An answer that is verified as it arrives: `text` is final, `pending` the raw text after it."""

    def __init__(
        self,
        sources: Sources,
        *,
        file_hashes: Mapping[str, str],
        remembered: Sequence[str] = (),
        translator: Translator | None = None,
    ) -> None:
        self.sources = sources
        self.text = self.pending = ""
        self.citations: tuple[Citation, ...] = ()
        self.support: tuple[Support, ...] = ()
        self.translator, self._waits = translator, False
        self._file_hashes = file_hashes
        self._remembered = frozenset(content_terms(" ".join(remembered)))
        self._markers: dict[str, int] = {}  # by the id of a source sentence

    def add(self, piece: str) -> bool:
        """Take the next piece of raw text; return whether it completed a sentence."""
        self.pending += piece
        pieces = [] if self._waits else sentences_of(self.pending)
        if len(pieces) < 2 or self.pending[pieces[-1].start] in "[【":  # markers may follow the full stop
            return False
        if self.translator and self.translator.is_needed(self.pending[: pieces[-1].start]):
            self._waits = True  # the model can translate once it has written everything
            return False
        self._verify(pieces[-1].start)
        return True

    def finish(self, *, cut_off: bool = False) -> None:
        """Take the pending text as complete; where it was `cut_off`, its last sentence is not verified."""
        pieces = sentences_of(self.pending)
        is_cut = cut_off and pieces and not ENDED.search(self.pending.rstrip())
        self._verify(pieces[-1].start if is_cut else len(self.pending))
        self.text = (self.text + self._plain(self.pending)).rstrip()
        self.pending = ""

    def _verify(self, end: int) -> None:
        """Verify the sentences of the pending text up to an offset, and move them to the final text."""
        done, self.pending, position = self.pending[:end], self.pending[end:], 0
        for piece in sentences_of(done):
            self.text += done[position : piece.start]
            self._add_sentence(self._plain(done[piece.start : piece.end]), piece.numbers)
            position = piece.end
        self.text += done[position:]

    def _plain(self, text: str) -> str:
        return without_links(without_markers(text), self.sources.text)

    def _add_sentence(self, plain: str, numbers: Collection[int]) -> None:
        start, translation = len(self.text), ""
        is_checked = (bool(numbers) or states_something(plain)) and not self._is_remembered(plain)
        if is_checked and self.translator and self.translator.is_needed(plain):
            translation = self.translator.translated(plain)
            is_checked = bool(translation)  # what could not be translated is not marked
        if not is_checked:
            self.text += plain
            return
        found = self.sources.judge(translation or plain, numbers)
        markers = tuple(dict.fromkeys(map(self._marker, found.cited)))
        self.text += with_markers(plain, markers)
        end, supported = len(self.text), found.supported
        self.support += (Support(start, end, markers, supported, found.score, found.missing, translation),)

    def _marker(self, leaf: Leaf) -> int:
        """The number of the citation of a source sentence, numbered in order of appearance."""
        if leaf.node.node_id not in self._markers:
            marker = self._markers[leaf.node.node_id] = len(self.citations) + 1
            file_hash = self._file_hashes.get(leaf.node.metadata["source"], "")
            self.citations += (citation_of([leaf.node], leaf.passage, marker=marker, file_hash=file_hash),)
        return self._markers[leaf.node.node_id]

    def _is_remembered(self, sentence: str) -> bool:
        """Whether memories have most of a sentence's words, and all of its names and numbers."""
        own, exact = content_terms(sentence), content_terms(" ".join(EXACT.findall(sentence)))
        shared = len(self._remembered.intersection(own))
        return self._remembered.issuperset(exact) and shared >= REMEMBERED * len(own) > 0


def states_something(sentence: str) -> bool:
    """False for headings, questions, labels, code and lines that introduce others."""
    plain = sentence.strip()
    if plain.endswith(("?", ":", "？", "：")) or plain.startswith(("#", "```", "~~~", "|--", "---")):
        return False
    return len(plain.split()) >= FEWEST_WORDS or not plain.isascii()
