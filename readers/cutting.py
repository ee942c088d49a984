"""Cut sections into leaves: sentences, list items, table rows and code, with exact offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from readers.blocks import Block, Kind
from readers.commonmark import parse_markdown
from readers.dialects import FILL, is_seen
from readers.levels import Section, Sentence, build_sentences
from readers.punkt import sentence_ends
from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, Span, TokenLimit, divide

DEFAULT_MAX_TOKENS = 254
"""MiniLM's 256, less its two special tokens."""
MAX_SENTENCES = 15_000
"""Leaves of a file, after which its paragraphs are divided by length alone; a vector has 768 bytes."""

_DATA = re.compile(rf"{FILL}{{200,}}|\Z")
"""Hidden data, which has a leaf on each side, or the end of the text."""
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + FILL


class SentenceCutter:
    """Cuts sections into leaves; `text == source[start_char_idx:end_char_idx]` for each.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code block are
    leaves; a longer text than `max_tokens` is divided. All text is in exactly one leaf but for markup between
    leaves: bullets, fences, rules, quote marks, and marks that readers do not see, such as tags. Marks within
    a sentence stay in its text, and are blanks or fillers in its `shown`. An ordered item's number is part of
    its leaf. A table's header row is a leaf, and in the metadata (`header`) of the rows below it.
    """

    def __init__(self, count_tokens: Callable[[str], int], *, max_tokens: int = DEFAULT_MAX_TOKENS) -> None:
        self._limit = TokenLimit(lambda text: count_tokens(text.replace(FILL, "")), max_tokens)

    def cut(self, section: Section) -> list[Sentence]:
        """Return the sentences of a section, in order; one that was made elsewhere is parsed first."""
        return self.cut_all([section if section.blocks is not None else _parsed(section)])

    def cut_all(self, sections: Iterable[Section]) -> list[Sentence]:
        """Return the sentences of a file's sections, in order."""
        sentences: list[Sentence] = []
        for section in sections:
            leaves = list(self._leaves(section, free=MAX_SENTENCES - len(sentences)))
            sentences += build_sentences(section, leaves)
        return sentences

    def _leaves(self, section: Section, *, free: int) -> Iterator[Block]:
        """Yield the leaves, with offsets in the section's own text; `free` of them may be sentences."""
        sentences = sentence_ends(str(section.metadata.get("language", "")))
        shown, base = section.metadata.get("shown", section.text), section.start_char_idx
        for block in section.blocks or ():
            coarse = {Kind.TABLE_ROW: (CELLS, sentences), Kind.CODE: (LINES,)}.get(block.kind, (sentences,))
            cuts = (*coarse, CLAUSES, WORDS)
            first = max(0, block.start - base)  # the section may have lost blanks that the block has
            most = max(0, free) if block.kind is Kind.PROSE else 0
            for start, end in _parts(shown[first : block.end - base], sentences, most=most):
                piece = shown[first + start : first + end]
                for span in divide(piece, limit=self._limit, cuts=cuts):
                    if is_seen(piece[slice(*span)]):
                        free -= 1
                        left, right = _trimmed(piece, *span)
                        yield Block(block.kind, first + start + left, first + start + right, block.header)


def _parts(block: str, sentences: Cut, *, most: int) -> Iterator[Span]:
    """Yield the first `most` sentences of a block and the rest of it; hidden data divides a block, too."""
    position = 0
    for mark in _DATA.finditer(block):
        part = block[position : mark.start()]
        bounds = dict.fromkeys([0, *(sentences(part)[:most] if most else ()), len(part)])
        yield from ((position + start, position + end) for start, end in pairwise(bounds))
        position = mark.end()


def _trimmed(text: str, start: int, end: int) -> Span:
    """The span without blanks and fillers around it."""
    left = text[start:end].lstrip(_BLANKS)
    return end - len(left), end - len(left) + len(left.rstrip(_BLANKS))


def _parsed(section: Section) -> Section:
    """Return a section that was made elsewhere, parsed; a heading in its text is a paragraph of it."""
    suffix = PurePosixPath(section.metadata.get("source", "")).suffix
    shown, items = parse_markdown(section.text, suffix=suffix, masked=section.metadata.get("shown", ""))
    blocks = [item if isinstance(item, Block) else Block(Kind.PROSE, item.start, item.end) for item in items]
    base = section.start_char_idx
    placed = tuple(replace(block, start=base + block.start, end=base + block.end) for block in blocks)
    return replace(section, blocks=placed, metadata={**section.metadata, "shown": shown})
