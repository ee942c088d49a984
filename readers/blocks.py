"""Blocks of Markdown, headings, and the numbers of lines by offset."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum

NEWLINE = re.compile(r"\r\n?|\n")
"""CommonMark's three line endings."""


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
    """Finds the number of a text's line by a character's offset; the first line has the number `first`."""

    def __init__(self, text: str, first: int = 1) -> None:
        self._starts = array("q", [0])  # a fifth of a list's memory
        self._starts.extend(newline.end() for newline in NEWLINE.finditer(text))
        self._before = first - 1

    def number(self, offset: int) -> int:
        """Return the number of the line at `offset`."""
        return self._before + bisect_right(self._starts, offset)


def shortened(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
