"""Sections in, sentences out: sentences, list items, table rows and code, with exact offsets."""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from readers.blocks import Block, Heading, Kind, blank_gaps
from readers.commonmark import parse_blocks
from readers.levels import Leaf, Section, Sentence, build_sentences
from readers.punkt import ABBREVIATIONS, SentenceSplitter
from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, Span, TokenLimit, divide

DEFAULT_MAX_TOKENS = 254
"""MiniLM's 256, less its two special tokens."""

FREE_LEAVES = 20_000
"""Leaves of a file that may be as short as they like; a vector alone has 768 bytes."""
JOINED_CHARACTERS = 400
"""What short leaves after them are joined to, at most."""


class SentenceCutter:
    """Cuts sections into leaves; `text == source[start_char_idx:end_char_idx]` for each.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code or HTML
    block are leaves; what has more than `max_tokens` tokens is divided. All text is in exactly one
    leaf but for markup between them: bullets, fences, rules, quote marks, link definitions, and the marks
    that readers do not see, such as tags. Those within a sentence stay in its text.
    An ordered item's number is part of its leaf. A table's header row is a leaf, and in the metadata
    (`header`) of the rows below it.

    After the `FREE_LEAVES` of a file, short ones are joined with those beside them.

    Other metadata: `source`, `title`, `heading_path` (the section's), `position` (from 0), `siblings`
    (how many leaves the section has), `kind`, `start_line`, `end_line`, and `page` where the text has pages.
    """

    def __init__(
        self,
        count_tokens: Callable[[str], int],
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        abbreviations: frozenset[str] = ABBREVIATIONS,
    ) -> None:
        self._splitter = splitter = _splitter(abbreviations)
        self._limit = TokenLimit(count_tokens, max_tokens)
        text_cuts = (splitter.ends, CLAUSES, WORDS)
        self._cuts: dict[Kind, tuple[Cut, ...]] = {
            Kind.PROSE: (CLAUSES, WORDS),
            Kind.LIST_ITEM: text_cuts,
            Kind.TABLE_ROW: (CELLS, *text_cuts),
            Kind.CODE: (LINES, CLAUSES, WORDS),
            Kind.HTML: (LINES, *text_cuts),
        }

    def cut(self, section: Section) -> list[Sentence]:
        """The sentences of a section, in order."""
        return build_sentences(section, list(self._spans(section)))

    def cut_all(self, sections: Iterable[Section]) -> list[Sentence]:
        """The sentences of a file's sections, in order."""
        sentences: list[Sentence] = []
        for section in sections:
            leaves = self._spans(section)
            few = islice(leaves, max(0, FREE_LEAVES - len(sentences)))
            sentences += build_sentences(section, [*few, *self._joined(leaves, section.text)])
        return sentences

    def _joined(self, leaves: Iterable[Leaf], text: str) -> Iterator[Leaf]:
        """The leaves of a text, short ones with those beside them; none longer than the limit for all."""
        for group in _groups(leaves, JOINED_CHARACTERS):
            if len(group) == 1 or self._limit.allows(text[group[0].start : group[-1].end]):
                yield _whole(group)
            else:  # no token is shorter than a character
                yield from map(_whole, _groups(group, self._limit.max_tokens))

    def _spans(self, section: Section) -> Iterator[Leaf]:
        """The leaves, with offsets in the section's own text."""
        for block in _blocks(section):
            marked = MarkedBlock(block, section.text)
            whole = (len(marked.inside),)
            start = 0
            for end in self._splitter.ends(marked.without_marks()) if block.kind is Kind.PROSE else whole:
                yield from self._leaves(marked, (start, end))
                start = end

    def _leaves(self, block: MarkedBlock, span: Span) -> Iterator[Leaf]:
        """The leaves of a span of the block, without whitespace and marks around them."""
        masked, unit = block.inside[slice(*span)], block.text[slice(*span)]
        for first, last in divide(unit, limit=self._limit, cuts=self._cuts[block.kind], masked=masked):
            first, last = block.trimmed(span[0] + first, span[0] + last)
            if first < last:
                yield Leaf(block.kind, block.start + first, block.start + last, block.header)


class MarkedBlock:
    """A block of a text, with what readers do not see in it; offsets count from the block's start."""

    def __init__(self, block: Block, text: str) -> None:
        self.kind: Kind = block.kind
        self.header = block.header
        self.start = block.start
        self.text = text[block.start : block.end]
        self.inside = blank_gaps(text, block)
        """The text, of the same length, with blanks for what belongs to an enclosing quote."""
        self._starts = [start - block.start for start, _ in block.marks]
        self._ends = [end - block.start for _, end in block.marks]

    def without_marks(self) -> str:
        """The text, of the same length, with blanks for marks that stand between words."""
        pieces, position = [], 0
        for start, end in zip(self._starts, self._ends, strict=True):
            before, after = self.inside[max(0, start - 1) : start], self.inside[end : end + 1]
            if not before.strip() and not after.strip():
                pieces += [self.inside[position:start], " " * (end - start)]
                position = end
        return "".join([*pieces, self.inside[position:]])

    def trimmed(self, first: int, last: int) -> Span:
        """The part of a span without the blanks and marks around it; an empty one where no word is left."""
        whole = first, last
        first, last = self._stripped(first, last)
        if not self._starts:
            return first, last
        at = bisect_right(self._ends, first)
        while at < len(self._starts) and self._starts[at] <= first < last:
            first, last = self._stripped(min(self._ends[at], last), last)
            at += 1
        at = bisect_right(self._starts, last - 1) - 1
        while at >= 0 and first < last <= self._ends[at]:
            first, last = self._stripped(first, max(first, self._starts[at]))
            at -= 1
        if not any(map(str.isalnum, self.inside[first:last])):
            return first, first
        return self._with_whole_tags(first, last, within=whole)

    def _with_whole_tags(self, first: int, last: int, *, within: Span) -> Span:
        """The span with both ends of a tag around a caption, where it has one end of it."""
        low, high = bisect_left(self._starts, first), bisect_right(self._ends, last)
        if low < high:
            while low > 0 and self._follows_caption(low) and self._starts[low - 1] >= within[0]:
                low -= 1
                first = self._starts[low]
            while high < len(self._ends) and self._follows_caption(high) and self._ends[high] <= within[1]:
                last = self._ends[high]
                high += 1
        return first, last

    def _follows_caption(self, mark: int) -> bool:
        """Whether a mark goes on with a tag behind a value that readers see."""
        return self.inside[self._starts[mark]] in "\"'"

    def _stripped(self, first: int, last: int) -> Span:
        """The span without blanks around it."""
        piece = self.inside[first:last]
        start = first + len(piece) - len(piece.lstrip())
        return start, max(start, first + len(piece.rstrip()))


def _groups(leaves: Iterable[Leaf], most: int) -> Iterator[list[Leaf]]:
    """Leaves in groups of up to so many characters in all, at least one."""
    group: list[Leaf] = []
    for leaf in leaves:
        if group and leaf.end - group[0].start > most:
            yield group
            group = []
        group.append(leaf)
    if group:
        yield group


def _whole(group: Sequence[Leaf]) -> Leaf:
    return replace(group[0], end=group[-1].end)


def _blocks(section: Section) -> Iterator[Block]:
    """The blocks of a section, by offsets in its text: those of the file's parse, or parsed now."""
    if section.blocks is not None:
        offset, length = section.start_char_idx, len(section.text)
        yield from (_moved(block, -offset, limit=length) for block in section.blocks)
        return
    for item in parse_blocks(section.text):
        # A heading in a node that is no section of ours: its words must not be lost.
        yield Block(Kind.PROSE, item.start, item.end) if isinstance(item, Heading) else item


def _moved(block: Block, by: int, *, limit: int) -> Block:
    """The block moved; cut where the section is trimmed of what Python, unlike Markdown, calls whitespace."""
    return replace(
        block,
        start=max(0, block.start + by),
        end=min(limit, block.end + by),
        gaps=_shifted(block.gaps, by),
        marks=_shifted(block.marks, by),
    )


def _shifted(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple((start + by, end + by) for start, end in spans)


@functools.cache
def _splitter(abbreviations: frozenset[str]) -> SentenceSplitter:
    return SentenceSplitter(abbreviations)
