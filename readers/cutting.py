"""Sections in, sentences out: sentences, list items, table rows and code, with exact offsets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from readers.blocks import Block, Heading, Kind, blank_gaps
from readers.commonmark import parse_blocks
from readers.leaves import Leaf, build_sentences
from readers.levels import Section, Sentence
from readers.punkt import ABBREVIATIONS, SentenceSplitter
from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, Span, TokenLimit, divide

DEFAULT_MAX_TOKENS = 254
"""MiniLM's 256, less its two special tokens."""


class SentenceCutter:
    """Cuts sections into leaves; `text == source[start_char_idx:end_char_idx]` for each.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code or HTML
    block are leaves; what has more than `max_tokens` tokens is divided. All text is in exactly one
    leaf but for markup between them: bullets, fences, rules, quote marks and link definitions.
    An ordered item's number is part of its leaf. A table's header row is a leaf, and in the metadata
    (`header`) of the rows below it.

    Other metadata: `source`, `title`, `heading_path` (the section's), `position` (from 0), `siblings`
    (how many leaves the section has), `kind`, `start_line`, `end_line`.
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

    def _spans(self, section: Section) -> Iterator[Leaf]:
        """The leaves, with offsets in the section's own text."""
        text = section.text
        for block in _blocks(section):
            inside = blank_gaps(text, block)
            start = 0
            for end in self._splitter.ends(inside) if block.kind is Kind.PROSE else (len(inside),):
                yield from self._leaves(block, text, inside, (start, end))
                start = end

    def _leaves(self, block: Block, text: str, inside: str, span: Span) -> Iterator[Leaf]:
        """The leaves of a span of the block, without whitespace around them.

        `inside` is the block's text with blanks for what belongs to an enclosing quote.
        """
        offset = block.start + span[0]
        masked = inside[slice(*span)]
        unit = text[offset : block.start + span[1]]
        for first, last in divide(unit, limit=self._limit, cuts=self._cuts[block.kind], masked=masked):
            piece = masked[first:last]
            first += len(piece) - len(piece.lstrip())
            last = first + len(piece.strip())
            if first < last:
                yield Leaf(block.kind, offset + first, offset + last, block.header)


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
    gaps = tuple((start + by, end + by) for start, end in block.gaps)
    return Block(block.kind, max(0, block.start + by), min(limit, block.end + by), block.header, gaps)


@functools.cache
def _splitter(abbreviations: frozenset[str]) -> SentenceSplitter:
    return SentenceSplitter(abbreviations)
