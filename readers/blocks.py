"""Blocks of Markdown, headings, and the numbers of lines and pages by offset.

A text that was converted has comments in it that say where each of its pages begins.
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
"""The comment that says where a page begins; it is neither indexed nor quoted."""


class Kind(StrEnum):
    """The kind of a block, which decides how it is cut into leaves."""

    PROSE = "prose"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a table row or the inside of a code block: `text[start:end]`."""

    kind: Kind
    start: int
    end: int
    header: str | None = None
    """For a table's body row: its header row."""
    quotes: int = 0
    """How many quotes enclose the block; its later lines begin with at most as many `>`."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside of lists and quotes; its lines are `text[start:end]`."""

    level: int
    title: str
    start: int
    end: int


class Lines:
    """Finds the number of a text's line (from 1) or page by a character's offset.

    `own` has the number of each line in its own file, where other files were included.
    """

    def __init__(self, text: str, own: Sequence[int] = ()) -> None:
        self._starts = array("q", [0])  # a fifth of a list's memory
        self._starts.extend(newline.end() for newline in NEWLINE.finditer(text))
        self._own = own
        self._pages = [(mark.start(), int(mark[1])) for mark in PAGE_MARK.finditer(text)]

    def number(self, offset: int) -> int:
        """Return the number of the line at `offset`."""
        line = bisect_right(self._starts, offset)
        return self._own[line - 1] if self._own else line

    def page(self, offset: int) -> int | None:
        """Return the number of the page at `offset`; None before the first page mark."""
        at = bisect_right(self._pages, offset, key=lambda page: page[0])
        return self._pages[at - 1][1] if at else None


def shortened(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
