"""Quotes: the parts of passages that answer best, word for word; without a language model, the answer.

Each leaf has a chance, the probability that it answers (`sentence_scores.py`). A quote is the block or run of
adjacent blocks with the highest sum of chances, or the part of a long block around its best leaf. If a
cross-encoder reranked the passages, it also reorders the first quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.answer import Citation, Retrieval, Unit
from pipeline.answering.blocks import Block, PassageLeaves, blocks_of
from pipeline.answering.citations import citation_of
from pipeline.answering.sentence_scores import Floats, sentence_chances, sentence_signals
from pipeline.finding.merging import join_introductions
from pipeline.finding.names import is_title
from pipeline.finding.passages import best_window, passage_leaves
from pipeline.models.base import CrossEncoder
from pipeline.nodes import Node, ScoredNode
from pipeline.stores.base import DocumentStore

# Chosen at 7fe762fc: docs/decisions/quoting.md has the measurements.
MOST_CHARACTERS = 1200  # most characters of a quote
COST = 1e-5  # chance that each further character of a quote must add
ENOUGH = 0.35  # sum of the chances of the quotes shown; the quotes after them are folded
WORTH_QUOTING = 0.005  # share of the best quote's chance; quotes below it are left out
MOST_SHOWN = 3
CLOSEST_SHOWN = 2  # if the documents may not answer
READ = 3  # quotes that the cross-encoder reads
READ_WEIGHT = 0.4  # of its logit, which is added to the logarithm of a quote's chance


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted span, how it is shown, its leaf that most likely answers, and the chance of the whole span."""

    citation: Citation
    unit: Unit
    best: Node
    chance: float


@dataclass(frozen=True, slots=True)
class Span:
    """Leaves `first` to `last` of a passage: a part of `block`, or `block` and whole blocks after it."""

    found: PassageLeaves
    chances: Floats  # of all leaves of the passage
    block: Block
    first: int
    last: int

    @property
    def chance(self) -> float:
        """The chance, 0..1, that the span has the answer: the sum over its leaves."""
        return float(self.chances[self.first : self.last + 1].sum())

    @property
    def best(self) -> int:
        """The position of the leaf that most likely answers."""
        return self.first + int(self.chances[self.first : self.last + 1].argmax())

    @property
    def worth(self) -> float:
        """The chance minus the cost of the length; spans are ranked by it."""
        return self.chance - COST * self.found.length(self.first, self.last)

    def overlaps(self, other: Span) -> bool:
        """Return whether both spans have a leaf or a block in common."""
        last, first = max(self.last, self.block.last), min(other.first, other.block.first)
        begins_before = self.block.first <= max(other.last, other.block.last)
        return self.found is other.found and begins_before and first <= last


def choose_quotes(
    retrieval: Retrieval, *, store: DocumentStore, limit: int, cross_encoder: CrossEncoder | None = None
) -> list[Quote]:
    """Return at most `limit` quotes of the retrieved passages, best first; [] without passages.

    If the question is a page's title, the page's beginning comes first, then its other quotes. At most three
    quotes are not folded. If the documents may not answer, two are chosen, plus such a page's beginning, and
    none is folded. Raises `ModelError` if the cross-encoder fails.
    """
    found = quotable(retrieval, store)
    if not found:
        return []
    chances = sentence_chances(sentence_signals(retrieval.question, found), found)
    spans = [span for item, own in zip(found, chances, strict=True) for span in _spans(item, own)]
    closest = retrieval.answerability.verdict == "closest"
    chosen = _chosen(spans, min(limit, CLOSEST_SHOWN) if closest else limit)
    if cross_encoder is not None and any(item.passage.rerank_score is not None for item in found):
        chosen = _reread(chosen, retrieval.question, cross_encoder)
    if is_title(retrieval.question, page := found[0].passage.section):
        chosen.sort(key=lambda span: span.found.passage.section.metadata["source"] != page.metadata["source"])
        begins = [span for span in spans if span.found is found[0] and span.first == 0][-1:]
        chosen = [*begins, *(span for span in chosen if not any(map(span.overlaps, begins)))][:limit]
    shown = len(chosen) if closest else _shown(chosen)
    return [_quote(span, marker, folded=marker > shown) for marker, span in enumerate(chosen, start=1)]


def quotable(retrieval: Retrieval, store: DocumentStore) -> list[PassageLeaves]:
    """Return the passages with the leaves that their text still has: documents may change meanwhile."""
    passages = join_introductions(retrieval.passages, store)
    leaves = passage_leaves(passages, store=store)
    found = []
    for passage in passages:
        item = PassageLeaves(passage, tuple(leaves[passage.section.node_id]))
        own = [leaf for leaf in item.leaves if item.text(leaf.start_char_idx, leaf.end_char_idx) == leaf.text]
        if own:
            found.append(replace(item, leaves=tuple(own)))
    return found


def _spans(found: PassageLeaves, chances: Floats) -> Iterator[Span]:
    """Yield every run of adjacent blocks of at most `MOST_CHARACTERS`, and a part of each longer block."""
    blocks = [block for block in blocks_of(found) if _has_words(found, block)]
    for place, block in enumerate(blocks):
        if found.length(block.first, block.last) > MOST_CHARACTERS:
            yield _part(found, block, chances)
        for last in blocks[place:]:
            if found.length(block.first, last.last) > MOST_CHARACTERS:
                break
            yield Span(found, chances, block, block.first, last.last)


def _has_words(found: PassageLeaves, block: Block) -> bool:
    """Return whether a block has words that readers see."""
    leaves = found.leaves[block.first : block.last + 1]
    return any(re.search(r"\w", leaf.metadata.get("shown", leaf.text)) for leaf in leaves)


def _part(found: PassageLeaves, block: Block, chances: Floats) -> Span:
    """Return the best leaf of a long block with as many leaves after and before it as fit."""
    first = last = block.first + int(chances[block.first : block.last + 1].argmax())
    while last < block.last and found.length(first, last + 1) <= MOST_CHARACTERS:
        last += 1
    while first > block.first and found.length(first - 1, last) <= MOST_CHARACTERS:
        first -= 1
    if first <= block.body:  # the block's beginning is quoted with its introduction
        first, last = block.first, max(last, block.body)
    return Span(found, chances, block, first, last)


def _chosen(spans: Sequence[Span], limit: int) -> list[Span]:
    """Return at most `limit` spans, best first, that do not overlap and have different best leaves."""
    chosen: list[Span] = []
    texts: set[str] = set()
    for span in sorted(spans, key=lambda span: -span.worth):
        text = span.found.leaves[span.best].text.casefold()
        if len(chosen) == limit or (chosen and span.chance < WORTH_QUOTING * chosen[0].chance):
            continue
        if text not in texts and not any(span.overlaps(other) for other in chosen):
            chosen.append(span)
            texts.add(text)
    return chosen


def _reread(chosen: Sequence[Span], question: str, cross_encoder: CrossEncoder) -> list[Span]:
    """Reorder the first `READ` spans by chance and cross-encoder score of the text around the best leaf."""
    head = chosen[:READ]
    best = [(span.found.passage, ScoredNode(span.found.leaves[span.best], 0.0)) for span in head]
    windows = [best_window(replace(passage, sentences=(leaf,))) for passage, leaf in best]
    read = [*zip(head, cross_encoder.score(question, windows), strict=True)]
    read.sort(key=lambda one: -math.log(max(one[0].chance, 1e-9)) - READ_WEIGHT * one[1])
    return [*(span for span, _ in read), *chosen[READ:]]


def _shown(chosen: Sequence[Span]) -> int:
    """Return how many quotes to show: until their chances add up to `ENOUGH`, at most `MOST_SHOWN`."""
    shown, chance = 0, 0.0
    while shown < min(MOST_SHOWN, len(chosen)) and chance < ENOUGH:
        chance += chosen[shown].chance
        shown += 1
    return shown


def _quote(span: Span, marker: int, *, folded: bool) -> Quote:
    """Return a span as a quote, whose citation has no file hash yet."""
    found, leaves = span.found, span.found.leaves[span.first : span.last + 1]
    start, end = found.span(span.first, span.last)
    text = found.text(start, end)
    cited = citation_of(leaves, found.passage, marker=marker, file_hash="")
    citation = replace(
        cited,
        start=start,
        end=end,
        start_line=cited.start_line - text[: leaves[0].start_char_idx - start].count("\n"),
        end_line=cited.end_line + text[leaves[-1].end_char_idx - start :].count("\n"),
        quote=text,
    )
    best = found.leaves[span.best]
    return Quote(citation, _unit(span, citation, best, folded=folded), best, span.chance)


def _unit(span: Span, citation: Citation, best: Node, *, folded: bool) -> Unit:
    """Return how a span is shown; the best leaf is marked, except in a complete procedure."""
    found = span.found
    block = next(block for block in blocks_of(found) if block.first <= span.best <= block.last)
    before = span.first > block.body
    unit = Unit(citation.marker, block.kind, citation.start, citation.end, folded=folded)
    if before or span.last < block.last:
        start, end = found.span(block.first, block.last)
        has_lead = before and block.body > block.first
        lead = found.text(*found.span(block.first, block.body - 1)) if has_lead else ""
        unit = replace(unit, start=start, end=end, lead=lead)
    if unit.kind == "steps" and not (before or span.last < block.last):
        return unit
    return replace(unit, answer_start=best.start_char_idx, answer_end=best.end_char_idx)
