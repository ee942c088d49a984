"""Blocks of Markdown: what they are, and where in the text, by lines and by pages.

A text that was converted has marks in it, which readers do not see, where each of its pages begins.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

NEWLINE = re.compile(r"\r\n?|\n")
"""CommonMark's three line endings."""
PAGE_MARK = re.compile(r"<!-- page ([0-9]{1,6}) -->")


class Kind(StrEnum):
    """What a block of text is; the parser of sentences treats each in its own way."""

    PROSE = "prose"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a table row or the inside of a code or HTML block: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    header: str | None = None
    """For a table's body row: its header row."""
    gaps: tuple[tuple[int, int], ...] = ()
    """Spans within the block that belong to an enclosing quote: its `>` on later lines."""
    marks: tuple[tuple[int, int], ...] = ()
    """Spans within the block that readers do not see: tags, comments, a site generator's directives."""
    too_deep: bool = False
    """Whether a list or quote in it is read as text, as there are too many around or before it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that is in no list and no quote; `text[start:end]` are its lines."""

    level: int
    title: str
    start: int
    end: int


class Lines:
    """The numbers of a text's lines, from 1, and of its pages, by offset.

    `own` has for each line the number it is known by, where others were included among them.
    """

    def __init__(self, text: str, own: Sequence[int] = ()) -> None:
        self._starts = line_starts(text)
        self._own = own
        self._page_starts, self._pages = array("q"), array("q")
        if "<!-- page " in text:
            for mark in PAGE_MARK.finditer(text):
                self._page_starts.append(mark.start())
                self._pages.append(int(mark[1]))

    def number(self, offset: int) -> int:
        """The number of the line that the character at `offset` is on."""
        line = bisect_right(self._starts, offset)
        return self._own[line - 1] if self._own else line

    def page(self, offset: int) -> int | None:
        """The number of the page that the character at `offset` is on; None before the first mark."""
        at = bisect_right(self._page_starts, offset)
        return self._pages[at - 1] if at else None


def page_mark(number: int) -> str:
    """What stands where a page begins; a comment, so that it is neither indexed nor quoted."""
    return f"<!-- page {number} -->"


def line_starts(text: str) -> Sequence[int]:
    """The offset of each line's start, by CommonMark's three line endings."""
    starts = array("q", [0])  # a fifth of a list's memory
    starts.extend(newline.end() for newline in NEWLINE.finditer(text))
    return starts


def blank_gaps(text: str, block: Block) -> str:
    """The block's text, of the same length, with spaces for what belongs to an enclosing quote."""
    if not block.gaps:
        return text[block.start : block.end]
    pieces, position = [], block.start
    for start, end in block.gaps:
        pieces += [text[position:start], " " * (end - start)]
        position = end
    return "".join([*pieces, text[position : block.end]])


def shortened(text: str, most: int) -> str:
    """`text`, cut to `most` characters with an ellipsis where it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
