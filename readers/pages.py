"""Pages of a text that was converted: marks in it, which readers do not see, tell where each begins."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

PAGE_MARK = re.compile(r"<!-- page ([0-9]{1,6}) -->")


def page_mark(number: int) -> str:
    """What stands where a page begins; a comment, so that it is neither indexed nor quoted."""
    return f"<!-- page {number} -->"


class Pages:
    """The page of each offset of a text, by its marks."""

    def __init__(self, text: str) -> None:
        self._starts, self._numbers = array("q"), array("q")
        if "<!-- page " in text:
            for mark in PAGE_MARK.finditer(text):
                self._starts.append(mark.start())
                self._numbers.append(int(mark[1]))

    def number(self, offset: int) -> int | None:
        """The page that the character at `offset` is on; None before the first mark."""
        position = bisect_right(self._starts, offset)
        return self._numbers[position - 1] if position else None
