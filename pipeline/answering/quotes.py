"""Quote mode: without a language model, the answer is the units that answer best, word for word.

Every leaf of the passages gets a chance to be the one that answers (`leaf_chances.py`). Of all spans that can
be quoted (`quote_windows.py`) the first is the one whose leaves' chances add up to most; then the next best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.analysis import analyse
from pipeline.answer import Passage, Retrieval, UnitKind
from pipeline.answering.leaf_chances import Candidate, Floats, chances, leaf_signals
from pipeline.answering.quote_windows import Part, Window, part_of, windows, words_of
from pipeline.answering.section_blocks import SectionLeaves, end_of, start_of
from pipeline.finding.passages import passage_leaves
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore

# docs/decisions/quoting.md has what was measured for each of these.
MOST_WORDS = 90  # of a quote; a section no longer than this is quoted whole
MOST_WORDS_OF_PARTS = 110  # of rows, steps, items and code with their lead-in
COST_OF_A_WORD = 0.0001  # chance that a word must add, for a longer quote to be better
ENOUGH = 0.35  # chance that a quote shown has the answer: no more are shown
CLOSE = 0.1  # of the best quote's chance: one that is as good is shown where all are short
WORTH_QUOTING = 0.02  # of the best quote's chance; what has less is left out
MOST_SHOWN = 3
FREE_CHOICES = 4  # quotes before each passage has one: with 3 an alarm's fix is quoted less often
CLOSEST_SHOWN = 2  # where the documents may not answer


@dataclass(frozen=True, slots=True)
class Quote:
    """One quoted span of a passage, and how it is shown."""

    passage: Passage
    leaves: tuple[Node, ...]  # quoted, in reading order
    start: int  # offset in the file; before the first leaf where its bullet or fence is quoted, too
    end: int
    score: float  # the chance, 0..1, that it holds the answer
    best: Node  # the leaf that answers
    part: Part  # what it is, or what it is a part of
    folded: bool = False  # behind "3 more passages"

    @property
    def text(self) -> str:
        """The quoted span as the file has it."""
        offset = start_of(self.passage.section)
        return self.passage.section.text[self.start - offset : self.end - offset]

    @property
    def lead(self) -> str:
        """Markdown that stands before the text and belongs to it; mostly nothing."""
        return self.part.lead

    @property
    def kind(self) -> UnitKind:
        """What it is, or what it is a part of."""
        return self.part.kind

    @property
    def shown(self) -> str:
        """What a reader sees of it."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text


@dataclass(frozen=True, slots=True)
class QuotableSection:
    """One run of leaves that can be quoted from, and where its leaves begin among all candidates."""

    passage: Passage
    section: SectionLeaves
    first: int


@dataclass(frozen=True, slots=True)
class _Span:
    """One window that can be quoted: positions among all candidates, the end not included."""

    found: QuotableSection
    window: Window
    start: int
    end: int
    words: int


def choose_quotes(
    retrieval: Retrieval,
    *,
    store: DocumentStore,
    encoder: Encoder,
    limit: int,
    weights: Mapping[str, float] | None = None,
) -> list[Quote]:
    """Return the best units of the retrieved passages, best first; at most `limit`.

    At most three are shown: as many as are needed for a fair chance that the answer is among them, and a
    short one beside a short one; the others are folded. Two that rest on the same words are chosen once.
    Where the documents may not answer, it is the best two.
    """
    sections = quotable(retrieval, store)
    candidates = candidates_of(sections)
    spans = list(_spans(sections))
    if not spans:  # no passages, or nothing but markup
        return []
    vectors = store.sentences.vectors([item.leaf.node_id for item in candidates])
    question = encoder.encode_query(retrieval.question)
    chance = chances(leaf_signals(retrieval.question, candidates, vectors, question), weights)
    closest = retrieval.answerability.verdict == "closest"
    chosen = _chosen(spans, chance, candidates, limit=min(limit, CLOSEST_SHOWN) if closest else limit)
    quotes = [_quote(span, chance) for span in chosen]
    quotes = [quote for quote in quotes if quote.score >= WORTH_QUOTING * quotes[0].score]
    return quotes if closest else _folded(quotes)


def quotable(retrieval: Retrieval, store: DocumentStore) -> list[QuotableSection]:
    """The passages' leaves; of a parent those of all its sections, in the document's order."""
    leaves = passage_leaves(retrieval.passages, store=store)
    found: list[QuotableSection] = []
    first = 0
    for passage in retrieval.passages:
        inside = _inside(passage, leaves[passage.section.node_id])
        if inside:
            text, offset = passage.section.text, start_of(passage.section)
            found.append(QuotableSection(passage, SectionLeaves.of(inside, text=text, offset=offset), first))
            first += len(inside)
    return found


def candidates_of(sections: Sequence[QuotableSection]) -> list[Candidate]:
    """All their leaves, one passage after the other; of a parent's, each section is told apart."""
    numbers: dict[tuple[int, str], int] = {}
    return [
        Candidate(leaf, found.passage, numbers.setdefault((found.first, leaf.section_id), len(numbers)))
        for found in sections
        for leaf in found.section.leaves
    ]


def _inside(passage: Passage, leaves: Sequence[Node]) -> list[Node]:
    """The leaves that the passage's text has: the document may have changed since it was fetched."""
    text, offset = passage.section.text, start_of(passage.section)
    return [leaf for leaf in leaves if text[start_of(leaf) - offset : end_of(leaf) - offset] == leaf.text]


def _spans(sections: Sequence[QuotableSection]) -> Iterator[_Span]:
    """Everything that can be quoted."""
    for found in sections:
        for window in windows(found.section, most_words=MOST_WORDS, most_in_block=MOST_WORDS_OF_PARTS):
            start, end = found.first + window.first, found.first + window.last + 1
            yield _Span(found, window, start, end, words_of(found.section, window))


def _chosen(
    spans: Sequence[_Span],
    chance: Floats,
    candidates: Sequence[Candidate],
    *,
    limit: int,
) -> list[_Span]:
    """The best spans, best first, none of which overlap or rest on the same words.

    After the first `FREE_CHOICES`, each passage has its best span before any has another.
    """
    start, end = np.array([span.start for span in spans]), np.array([span.end for span in spans])
    sums = np.concatenate([[0.0], np.cumsum(chance)])
    worth = sums[end] - sums[start] - COST_OF_A_WORD * np.array([span.words for span in spans])
    of_passage = np.array([span.found.first for span in spans])
    free = np.ones(len(spans), dtype=bool)
    chosen: list[_Span] = []
    said: set[tuple[str, ...]] = set()
    while free.any() and len(chosen) < limit:
        fresh = free & ~np.isin(of_passage, [span.found.first for span in chosen])
        pool = fresh if len(chosen) >= FREE_CHOICES and fresh.any() else free
        span = spans[int(np.where(pool, worth, -np.inf).argmax())]
        taken = span if span.window.block is None else _whole(span)
        free &= (end <= taken.start) | (start >= taken.end)
        says = tuple(analyse(candidates[_best(span, chance)].leaf.text))
        if says not in said:
            chosen.append(span)
            said.add(says)
    return chosen


def _whole(span: _Span) -> _Span:
    """The whole of which the span is a part: what is left out of it is a click away, and not quoted again."""
    block = span.window.block
    if block is None:
        return span
    first = block.first if block.lead is None else block.lead
    return replace(span, start=span.found.first + first, end=span.found.first + block.last + 1)


def _best(span: _Span, chance: Floats) -> int:
    """The candidate in it that is likeliest to answer."""
    return span.start + int(chance[span.start : span.end].argmax())


def _quote(span: _Span, chance: Floats) -> Quote:
    best, score = _best(span, chance) - span.found.first, float(chance[span.start : span.end].sum())
    return _of_window(span.found.passage, span.found.section, span.window, best, score=score)


def _of_window(passage: Passage, section: SectionLeaves, window: Window, best: int, *, score: float) -> Quote:
    start, end = section.span(window.first, window.last)
    leaves, part = section.leaves[window.first : window.last + 1], part_of(section, window, best)
    return Quote(passage, leaves, start, end, score, section.leaves[best], part)


def _folded(quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes with those folded that need not be seen."""
    shown = _how_many(quotes)
    return [replace(quote, folded=number >= shown) for number, quote in enumerate(quotes)]


def _how_many(quotes: Sequence[Quote]) -> int:
    """How many quotes are shown: as many as are needed for `ENOUGH` or take no room; at most three."""
    shown, chance, words = 0, 0.0, 0
    for quote in quotes[:MOST_SHOWN]:
        own = len(quote.shown.split())
        near = quote.score >= CLOSE * quotes[0].score and words + own <= MOST_WORDS
        if shown and chance >= ENOUGH and not near:
            break
        shown, chance, words = shown + 1, chance + quote.score, words + own
    return shown
