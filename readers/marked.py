"""A block with its marks: what a sentence of it is without those at its edges."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from readers.blocks import Block, Kind, blank_gaps
from readers.split import Span


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
