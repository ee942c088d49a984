"""Cutting of sections into leaves: sentences, list items, table rows and code blocks, with exact offsets.

A leaf with too many tokens is divided as coarsely as possible: at cells, lines, sentences, clauses or words.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath

from readers.commonmark import parse_markdown
from readers.dialects import FILL, Span, is_seen
from readers.language import Cut, sentence_ends
from readers.levels import Block, Kind, Section, Sentence, build_sentences

CHARACTERS_PER_TOKEN = 8
"""The search for a piece's end looks this many characters ahead per allowed token; words are shorter."""
DEFAULT_MAX_TOKENS = 254
"""MiniLM reads 256 tokens, of which two are special tokens."""
MAX_SENTENCES = 15_000
"""After this many leaves of a file, paragraphs are cut only if too long: a leaf's vector has 768 bytes."""


def cut_after(pattern: str) -> Cut:
    """Return a function that cuts a text after each match of the regex `pattern`."""
    compiled = re.compile(rf"{pattern}|\Z")
    return lambda text: array("q", (match.end() for match in compiled.finditer(text)))


LINES = cut_after(r"\r\n?|\n")
CELLS = cut_after(r"(?<!\\)\|")
CLAUSES = cut_after(r"[,;:)\]–—]\s+")
WORDS = cut_after(r"\s+")

_DATA = re.compile(rf"{FILL}{{200,}}|\Z")
"""A run of hidden data, which separates the leaves before and after it; or the end of the text."""
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + FILL


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """The most tokens that a text may have, and the function that counts them."""

    count_tokens: Callable[[str], int]
    max_tokens: int

    def allows(self, text: str) -> bool:
        """Return whether `text` has few enough tokens; if its length decides, the tokens are not counted."""
        reach = CHARACTERS_PER_TOKEN * self.max_tokens
        is_short = len(text) <= reach or sum(map(len, text.split())) <= reach
        return len(text) <= self.max_tokens or (is_short and self.count_tokens(text) <= self.max_tokens)


def divide(text: str, *, limit: TokenLimit, cuts: Sequence[Cut]) -> list[Span]:
    """Return spans (start, end) that cover `text`, in order, each within the limit when stripped.

    Each span ends at the last fitting offset of `cuts[0]`. If none fits, the text up to the next offset is
    divided by `cuts[1:]`; after the last cut, between characters. A single character stays undivided.
    """
    if limit.allows(text.strip()) or len(text) == 1:
        return [(0, len(text))]
    ends = cuts[0](text) if cuts else range(1, len(text) + 1)
    reach = CHARACTERS_PER_TOKEN * limit.max_tokens
    spans: list[Span] = []
    position = 0
    while position < len(text):
        first, last = bisect_right(ends, position), bisect_right(ends, position + reach)
        fitting = bisect_left(
            ends, True, first, last, key=lambda end: not limit.allows(text[position:end].strip())
        )
        end = ends[max(first, fitting - 1)]
        if fitting > first:
            spans.append((position, end))
        else:
            inner = divide(text[position:end], limit=limit, cuts=cuts[1:])
            spans += [(position + start, position + stop) for start, stop in inner]
        position = end
    return spans


class SentenceCutter:
    """Cuts sections into leaves; for each leaf, `text` is `file_text[start_char_idx:end_char_idx]`.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code block are
    leaves; one with more than `max_tokens` is divided. All text is in exactly one leaf, except markup between
    leaves: bullets, fences, rules, quote marks, and marks that readers do not see, such as tags. Marks inside
    a sentence stay in its `text`, but are blanks or fillers in its `shown`. An ordered item's number is in
    its leaf. A table's header row is a leaf, and is also in the metadata (`header`) of the rows below it.
    """

    def __init__(self, count_tokens: Callable[[str], int], *, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self._limit = TokenLimit(lambda text: count_tokens(text.replace(FILL, "")), max_tokens)

    def cut(self, section: Section) -> list[Sentence]:
        """Return the sentences of a section, in order; if its `blocks` are None, its text is parsed first."""
        return self.cut_all([section if section.blocks is not None else _parsed(section)])

    def cut_all(self, sections: Iterable[Section]) -> list[Sentence]:
        """Return the sentences of a file's sections, in order; a section whose `blocks` are None has none."""
        sentences: list[Sentence] = []
        for section in sections:
            leaves = list(self._leaves(section, free=MAX_SENTENCES - len(sentences)))
            sentences += build_sentences(section, leaves)
        return sentences

    def _leaves(self, section: Section, *, free: int) -> Iterator[Block]:
        """Yield leaves, with offsets in the section's text; after `free`, paragraphs are not cut up."""
        sentences = sentence_ends(str(section.metadata.get("language", "")))
        shown, base = section.metadata.get("shown", section.text), section.start_char_idx
        for block in section.blocks or ():
            coarse = {Kind.TABLE_ROW: (CELLS, sentences), Kind.CODE: (LINES,)}.get(block.kind, (sentences,))
            cuts = (*coarse, CLAUSES, WORDS)
            first = max(0, block.start - base)  # the section may have lost blanks that the block has
            most = max(0, free) if block.kind is Kind.PROSE else 0
            for start, end in _parts(shown[first : block.end - base], sentences, most=most):
                piece = shown[first + start : first + end]
                for left, right in divide(piece, limit=self._limit, cuts=cuts):
                    text = piece[left:right]
                    if is_seen(text):
                        free -= 1
                        from_, to = right - len(text.lstrip(_BLANKS)), left + len(text.rstrip(_BLANKS))
                        yield Block(block.kind, first + start + from_, first + start + to, block.header)


def _parts(block: str, sentences: Cut, *, most: int) -> Iterator[Span]:
    """Yield the spans of a block's first `most` sentences and of the rest; hidden data divides it, too."""
    position = 0
    for mark in _DATA.finditer(block):
        part = block[position : mark.start()]
        bounds = dict.fromkeys([0, *(sentences(part)[:most] if most else ()), len(part)])
        yield from ((position + start, position + end) for start, end in pairwise(bounds))
        position = mark.end()


def _parsed(section: Section) -> Section:
    """Return `section` with its text parsed into `blocks`; headings in the text become paragraphs."""
    suffix = PurePosixPath(section.metadata.get("source", "")).suffix
    shown, items = parse_markdown(section.text, suffix=suffix)
    blocks = [item if isinstance(item, Block) else Block(Kind.PROSE, item.start, item.end) for item in items]
    base = section.start_char_idx
    placed = tuple(replace(block, start=base + block.start, end=base + block.end) for block in blocks)
    return replace(section, blocks=placed, metadata={**section.metadata, "shown": shown})
