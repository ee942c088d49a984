"""Quote mode: without a language model, the answer is the units that answer best, word for word.

Every leaf of the passages gets a chance to be the one that answers (`leaf_chances.py`). Of all spans that can
be quoted (`quote_windows.py`) the first is the one whose leaves' chances add up to most; then the next best.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.analysis import analyse, embedding_question
from pipeline.answer import Passage, Retrieval, UnitKind
from pipeline.answering.leaf_chances import (
    ACTION,
    CAUSES,
    FIX,
    Candidate,
    Floats,
    chances,
    leaf_signals,
    wants_fix,
)
from pipeline.answering.listed_tables import Table, tables_of
from pipeline.answering.newest import newest_leaves
from pipeline.answering.quote_windows import Part, Window, part_of, windows, words_of
from pipeline.answering.section_blocks import SectionLeaves, end_of, section_of, start_of
from pipeline.asking.kinds import Asked, asked_for
from pipeline.finding.called import calls
from pipeline.finding.definitions import WHOLE, defines
from pipeline.finding.entries import entry_leaves
from pipeline.finding.passages import passage_leaves
from pipeline.finding.tree import Trees
from pipeline.models.base import Encoder
from pipeline.nodes import Node, StoredNode
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms

# docs/decisions/quoting.md has what was measured for each of these.
MOST_WORDS = 90  # of a quote; a section no longer than this is quoted whole
MOST_WORDS_OF_PARTS = 110  # of rows, steps, items and code with their lead-in
MOST_WORDS_OF_LISTS = 350  # of them, where all of some things are asked for: about 25 rows
COST_OF_A_WORD = 0.0001  # chance that a word must add, for a longer quote to be better
ENOUGH = 0.35  # chance that a quote shown has the answer: no more are shown
CLOSE = 0.1  # of the best quote's chance: one that is as good is shown where all are short
WORTH_QUOTING = 0.02  # of the best quote's chance; what has less is left out
OF_ENTRY = 0.9  # chance that the entry of a code answers, where the code is the whole question
NO_ORDER = 0.01  # of a leaf's chance to be marked remains, where an order is wanted and it is none
HOW = re.compile(r"\bhow\b", re.IGNORECASE)  # asks for an explanation as often as for an order
AS_LIKELY = 0.4  # of the best quote's chance: a fix that is wanted and has as much goes first
MOST_SHOWN = 3
CLOSEST_SHOWN = 2  # where the documents may not answer


KINDS: Mapping[str, UnitKind] = {"list_item": "list", "table_row": "table", "code": "code"}


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
    together: bool = False  # its leaves answer together, no one of them alone

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

    def overlaps(self, other: Quote) -> bool:
        """Whether both have words of the same place."""
        same = self.passage.section.metadata["source"] == other.passage.section.metadata["source"]
        return same and self.start < other.end and other.start < self.end

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
    """The best units of the retrieved passages, best first; at most `limit`.

    At most three are shown: as many as are needed for a fair chance that the answer is among them, a short
    one beside a short one, and a fix where one is wanted; the others are folded. Two that rest on the same
    words are chosen once. Where the documents may not answer, it is the best two. A list that they keep in
    several tables is all of these, however many.
    """
    asked = asked_for(retrieval.question)
    closest = retrieval.answerability.verdict == "closest"
    if asked is Asked.LIST and not closest:
        tables = tables_of(retrieval.question, retrieval, store=store)
        if tables:
            return list(_whole_list(tables))
    sections = quotable(retrieval, store)
    candidates = candidates_of(sections)
    if not candidates:
        return []
    vectors = store.sentences.vectors([item.leaf.node_id for item in candidates])
    question = encoder.encode_query(embedding_question(retrieval.question))
    chance = chances(leaf_signals(retrieval.question, candidates, vectors, question), weights)
    chance = _with_entry(chance, entry_leaves(retrieval.question, [item.leaf for item in candidates]))
    if asked is Asked.DEFINE:
        chance = _with_entry(chance, _defining(retrieval.question, candidates))
    elif called := calls(retrieval.question):
        chance = _with_entry(chance, [called(item.passage.section) for item in candidates])
    chance = _with_entry(chance, newest_leaves(retrieval.question, candidates))
    spans = list(_spans(sections, asked))
    if not spans:  # nothing but markup
        return []
    most = min(limit, CLOSEST_SHOWN) if closest else limit
    chosen = _chosen(spans, chance, candidates, limit=most)
    fix = wants_fix(retrieval.question, asked)
    marks = _to_be_marked(retrieval.question, chance, candidates) if fix else chance
    quotes = [_quote(span, chance, marks) for span in chosen]
    quotes = [quote for quote in quotes if quote.score >= WORTH_QUOTING * quotes[0].score]
    if closest:
        return quotes
    if fix and not any(map(_is_fix_led_to, quotes)):
        quotes += _fix_led_to(spans, chance, marks)
    first, *others = quotes
    beside = _fix_beside(first.best, store) if fix or asked is Asked.OTHER else None
    if not beside or beside.overlaps(first):
        return _folded(quotes, [quote for quote in quotes if fix and _is_fix(quote)])
    beside = next(filter(beside.overlaps, others), beside)
    return _folded([first, beside, *(quote for quote in others if quote is not beside)], [beside])


def _with_entry(chance: Floats, entry: Sequence[bool]) -> Floats:
    """The chances, most of it for the entry of a code that is the whole question, where there is one."""
    own = np.array(entry)
    if not own.any() or own.all():
        return chance
    shared = np.where(own, chance / chance[own].sum(), chance / chance[~own].sum())
    return np.asarray(shared * np.where(own, OF_ENTRY, 1 - OF_ENTRY))


def _defining(question: str, candidates: Sequence[Candidate]) -> list[bool]:
    """Which leaves are an entry that says what is asked for, or of a section that begins with that."""
    terms = frozenset(content_terms(question))
    opening = {item.section: item.leaf for item in reversed(candidates)}
    begun = {section for section, leaf in opening.items() if defines(leaf.text, terms) >= WHOLE}
    return [
        item.section in begun
        or (item.leaf.metadata["kind"] == "list_item" and defines(item.leaf.text, terms) >= WHOLE)
        for item in candidates
    ]


def quote_of(passage: Passage, leaves: Sequence[Node], *, score: float = 0.0) -> Quote:
    """A quote of adjacent leaves that somebody else chose; the last one is what answers."""
    start, end, best = start_of(leaves[0]), end_of(leaves[-1]), leaves[-1]
    kind = KINDS.get(best.metadata["kind"], "sentence" if len(leaves) == 1 else "paragraph")
    return Quote(passage, tuple(leaves), start, end, score, best, Part(kind, start, end))


def opening_quote(section: StoredNode, *, store: DocumentStore, after: int = 0) -> Quote | None:
    """As much of a section's beginning, or of what stands `after` an offset, as a quote may have."""
    leaves = store.sentences.of_sections([section.node_id]).get(section.node_id, [])
    parsed = SectionLeaves.of(leaves, text=section.text, offset=start_of(section))
    first = next((at for at, leaf in enumerate(parsed.leaves) if start_of(leaf) >= after), len(leaves))
    found = windows(parsed, most_words=MOST_WORDS, most_in_block=MOST_WORDS_OF_PARTS)
    left = [window for window in found if window.first >= first]
    if not left:
        return None
    window = min(left, key=lambda window: (window.first, -window.last))
    return _of_window(
        Passage(section, (), False, 1.0), parsed, window, window.first, score=0.0, together=True
    )


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
        Candidate(leaf, found.passage, numbers.setdefault((found.first, section_of(leaf)), len(numbers)))
        for found in sections
        for leaf in found.section.leaves
    ]


def _inside(passage: Passage, leaves: Sequence[Node]) -> list[Node]:
    """The leaves that the passage's text has: the document may have changed since it was fetched."""
    text, offset = passage.section.text, start_of(passage.section)
    return [leaf for leaf in leaves if text[start_of(leaf) - offset : end_of(leaf) - offset] == leaf.text]


def _spans(sections: Sequence[QuotableSection], asked: Asked) -> Iterator[_Span]:
    """Everything that can be quoted."""
    in_block = MOST_WORDS_OF_LISTS if asked is Asked.LIST else MOST_WORDS_OF_PARTS
    for found in sections:
        for window in windows(found.section, most_words=MOST_WORDS, most_in_block=in_block):
            start, end = found.first + window.first, found.first + window.last + 1
            yield _Span(found, window, start, end, words_of(found.section, window))


def _chosen(
    spans: Sequence[_Span],
    chance: Floats,
    candidates: Sequence[Candidate],
    *,
    limit: int,
) -> list[_Span]:
    """The best spans, best first, none of which overlap or rest on the same words."""
    start, end = np.array([span.start for span in spans]), np.array([span.end for span in spans])
    sums = np.concatenate([[0.0], np.cumsum(chance)])
    worth = sums[end] - sums[start] - COST_OF_A_WORD * np.array([span.words for span in spans])
    free = np.ones(len(spans), dtype=bool)
    chosen: list[_Span] = []
    said: set[tuple[str, ...]] = set()
    while free.any() and len(chosen) < limit:
        span = spans[int(np.where(free, worth, -np.inf).argmax())]
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


def _to_be_marked(question: str, chance: Floats, candidates: Sequence[Candidate]) -> Floats:
    """The chances by which a leaf is marked where a fix is wanted: an order has most, but not for "how"."""
    order = [bool(ACTION.match(item.leaf.text)) for item in candidates]
    return chance if HOW.search(question) else np.asarray(np.where(order, chance, NO_ORDER * chance))


def _quote(span: _Span, chance: Floats, marks: Floats) -> Quote:
    best, score = _best(span, marks) - span.found.first, float(chance[span.start : span.end].sum())
    return _of_window(span.found.passage, span.found.section, span.window, best, score=score)


def _of_window(
    passage: Passage,
    section: SectionLeaves,
    window: Window,
    best: int,
    *,
    score: float,
    folded: bool = False,
    together: bool = False,
) -> Quote:
    start, end = section.span(window.first, window.last)
    leaves, part = section.leaves[window.first : window.last + 1], part_of(section, window, best)
    return Quote(passage, leaves, start, end, score, section.leaves[best], part, folded, together)


def _whole_list(tables: Sequence[Table]) -> Iterator[Quote]:
    """A quote for each table, shown as far as a list may be long; at least the first is."""
    words = 0
    for passage, section, window in tables:
        words += words_of(section, window)
        folded = words > MOST_WORDS_OF_LISTS and window is not tables[0].window
        yield _of_window(
            passage, section, window, window.last, score=1 / len(tables), folded=folded, together=True
        )


def _folded(quotes: Sequence[Quote], fixes: Sequence[Quote]) -> list[Quote]:
    """The quotes with those folded that need not be seen; a fix that is wanted is seen, after the best.

    It goes before the best where it is about as likely to answer. The fix that a code leads to is seen, too,
    where another was found sooner.
    """
    order = list(quotes)
    if likely := [one for one in fixes if one.score >= AS_LIKELY * order[0].score]:
        order.remove(likely[0])
        order.insert(0, likely[0])
    shown = _how_many(order)
    for wanted in (fixes, [quote for quote in order if fixes and _is_fix_led_to(quote)]):
        found = order.index(wanted[0]) if wanted else 0
        if found >= shown:
            quote, shown = order.pop(found), min(shown + 1, MOST_SHOWN)
            order.insert(shown - 1, quote)
    return [replace(quote, folded=number >= shown) for number, quote in enumerate(order)]


def _is_fix(quote: Quote) -> bool:
    """True for steps, but of no causes, for what stands under a heading such as Fix, and for an order."""
    if CAUSES.search("".join(quote.best.metadata["heading_path"][-1:])):
        return False
    return quote.kind == "steps" or _has_fix_heading(quote.best) or bool(ACTION.match(quote.best.text))


def _fix_led_to(spans: Sequence[_Span], chance: Floats, marks: Floats) -> list[Quote]:
    """The beginning of the fix in what a code or link leads to, as much of it as a quote may have."""
    led = [span for span in spans if span.found.passage.led_by and _under_fix(span)]
    return [_quote(span, chance, marks) for span in sorted(led, key=lambda one: (one.start, -one.end))[:1]]


def _fix_beside(best: Node, store: DocumentStore) -> Quote | None:
    """The beginning of the fix that stands under the same heading as symptoms or causes."""
    *above, heading = best.metadata["heading_path"] or ("",)
    tree = Trees(store.sections).get(best.metadata["source"]) if above and CAUSES.search(heading) else None
    for section in tree.document.sections if tree else ():
        *other, own = section.metadata["heading_path"] or ("",)
        if other == above and FIX.search(own):
            return opening_quote(section, store=store)
    return None


def _under_fix(span: _Span) -> bool:
    """Whether all of it stands under a heading such as Fix or First action."""
    return all(map(_has_fix_heading, span.found.section.leaves[span.window.first : span.window.last + 1]))


def _is_fix_led_to(quote: Quote) -> bool:
    """True for what has some of the fix of the procedure that the row of an alarm names."""
    return bool(quote.passage.led_by) and any(map(_has_fix_heading, quote.leaves))


def _has_fix_heading(leaf: Node) -> bool:
    return bool(FIX.search("".join(leaf.metadata["heading_path"][-1:])))


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
