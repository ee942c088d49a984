"""Quote mode: without a language model, the answer is the sentences that answer best, as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from llama_index.core.schema import TextNode

from pipeline.analysis import analyse
from pipeline.answer import Passage, Retrieval
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms

# Shares of a sentence's score: cosine to the question, the question's words in it, its section's rank.
# Found by `python -m evals.quotes` on the manuals' questions and SciFact's gold sentences.
CLOSENESS, COVERAGE, SECTION = 0.5, 0.25, 0.25
WORTH_QUOTING = 0.75  # of the best sentence's score; what is weaker is left out
SAME = 0.95  # cosine of two sentences that say the same
MAX_LIST_ITEMS = 8  # of a list that a quoted sentence introduces


@dataclass(frozen=True, slots=True)
class Quote:
    """One quoted span of a section: a sentence, with the list that it introduces where it does."""

    passage: Passage
    leaves: tuple[TextNode, ...]  # adjacent, in reading order
    score: float

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


def choose_quotes(retrieval: Retrieval, *, store: DocumentStore, encoder: Encoder, limit: int) -> list[Quote]:
    """The best sentences of the retrieved passages, grouped by section, in reading order within each.

    Sections stand in the order of their best sentence, so that the first group answers first. At most
    `limit` quotes; two that say the same are quoted once.
    """
    leaves = store.sentences.of_sections([passage.section.node_id for passage in retrieval.passages])
    quotes = _scored(retrieval, leaves, store=store, encoder=encoder)
    vectors = store.sentences.vectors([leaf.node_id for quote in quotes for leaf in quote.leaves])
    chosen: list[Quote] = []
    for quote in quotes:
        if len(chosen) == limit or (chosen and quote.score < WORTH_QUOTING * chosen[0].score):
            break
        if not any(_same(quote, other, vectors) for other in chosen):
            chosen.append(quote)
    return _in_reading_order([_with_list(quote, leaves[quote.passage.section.node_id]) for quote in chosen])


def _scored(
    retrieval: Retrieval,
    leaves: Mapping[str, Sequence[TextNode]],
    *,
    store: DocumentStore,
    encoder: Encoder,
) -> list[Quote]:
    """Every sentence of the passages as a quote, best first."""
    question = encoder.encode_query(retrieval.question)
    terms = content_terms(retrieval.question)
    vectors = store.sentences.vectors([leaf.node_id for group in leaves.values() for leaf in group])
    best = max((passage.score for passage in retrieval.passages), default=1.0) or 1.0
    quotes = []
    for passage in retrieval.passages:
        for leaf in leaves.get(passage.section.node_id, ()):
            closeness = float(np.dot(vectors[leaf.node_id], question)) if leaf.node_id in vectors else 0.0
            score = CLOSENESS * closeness + COVERAGE * _coverage(terms, leaf) + SECTION * passage.score / best
            quotes.append(Quote(passage, (leaf,), score))
    return sorted(quotes, key=lambda quote: (-quote.score, quote.leaves[0].node_id))


def _coverage(terms: Sequence[str], leaf: TextNode) -> float:
    """The share of the question's content words that the sentence or its own heading has."""
    heading = leaf.metadata["heading_path"][-1:]
    present = {*analyse(leaf.text), *analyse(leaf.metadata.get("header", "")), *analyse(" ".join(heading))}
    return sum(term in present for term in terms) / len(terms) if terms else 0.0


def _same(quote: Quote, other: Quote, vectors: Mapping[str, np.ndarray]) -> bool:
    one, two = quote.leaves[0], other.leaves[0]
    if one.text == two.text:
        return True
    if one.node_id not in vectors or two.node_id not in vectors:
        return False
    return float(np.dot(vectors[one.node_id], vectors[two.node_id])) >= SAME


def _with_list(quote: Quote, siblings: Sequence[TextNode]) -> Quote:
    """The quote with the list items or the code that its sentence introduces with a colon."""
    leaf = quote.leaves[0]
    if not leaf.text.rstrip("*_` ").endswith(":"):
        return quote
    position = next(index for index, node in enumerate(siblings) if node.node_id == leaf.node_id)
    followers = []
    for node in siblings[position + 1 : position + 1 + MAX_LIST_ITEMS]:
        if node.metadata["kind"] not in ("list_item", "code", "table_row"):
            break
        followers.append(node)
    return Quote(quote.passage, (leaf, *followers), quote.score)


def _in_reading_order(quotes: Sequence[Quote]) -> list[Quote]:
    """Grouped by section, sections by their best quote; what one list has is not quoted again."""
    groups: dict[str, list[Quote]] = {}
    for quote in quotes:
        groups.setdefault(quote.passage.section.node_id, []).append(quote)
    ordered: list[Quote] = []
    for group in groups.values():
        end = -1
        for quote in sorted(group, key=lambda item: (item.start, -item.end)):
            unquoted = tuple(leaf for leaf in quote.leaves if (leaf.start_char_idx or 0) > end)
            if unquoted:
                ordered.append(replace(quote, leaves=unquoted))
                end = quote.end - 1
    return ordered
