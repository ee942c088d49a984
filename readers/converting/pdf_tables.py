"""Tables of a page that draws them as text: rows of lines whose parts stand below one another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

WIDE = 1.2
"""How many heights of its type a gap within a line is, at least, where another cell begins."""
FEWEST_ROWS = 3
LONGEST_CELLS = 35
"""Characters of the middle cell, at most: longer ones are columns of text, not of a table."""
ROW_GAP = 1.5
"""Of a line's height, between two rows, at most."""

_MARK = re.compile(r"(?:[-•◦▪–*·‣]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)])?")


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line, with where it begins and ends, in points from the left."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its text, its parts, where its first character stands (points from the bottom)."""

    text: str
    bottom: float
    top: float
    cells: tuple[Cell, ...] = ()

    @property
    def height(self) -> float:
        """The height of its type, to half a point."""
        return round((self.top - self.bottom) * 2) / 2


class Table:
    """Rows that stand in the columns of the first one; `taken` lines were made into them."""

    def __init__(self, header: Line) -> None:
        self._columns = [(cell.left, cell.right) for cell in header.cells]
        self.rows = [[cell.text for cell in header.cells]]
        self.taken = 1
        self._last = header

    @property
    def is_one(self) -> bool:
        """Whether this is a table, and no list, text in columns or accident."""
        if all(_MARK.fullmatch(row[0]) for row in self.rows):  # steps or bullets with an indent
            return False
        lengths = [len(text) for text in chain.from_iterable(self.rows) if text]
        return len(self.rows) >= FEWEST_ROWS and median(lengths) <= LONGEST_CELLS

    def take(self, line: Line) -> bool:
        """Add a line as the next row, or to cells of the last one that go on; False where it is neither."""
        places = [self._place(cell) for cell in line.cells]
        if None in places or len(set(places)) < len(places) or not places or self._is_apart(line):
            return False
        if len(places) > 1:
            self.rows.append([""] * len(self._columns))
        elif places == [0]:
            return False
        for place, cell in zip(places, line.cells, strict=True):
            assert place is not None  # noqa: S101  (for mypy: looked at above)
            self._put(place, cell)
        self._last = line
        self.taken += 1
        return True

    def _is_apart(self, line: Line) -> bool:
        gap = self._last.bottom - line.top
        return not -line.height < gap <= ROW_GAP * line.height

    def _place(self, cell: Cell) -> int | None:
        """The one column that a cell stands below."""
        below = [
            at for at, (left, right) in enumerate(self._columns) if cell.left < right and left < cell.right
        ]
        return below[0] if len(below) == 1 else None

    def _put(self, place: int, cell: Cell) -> None:
        left, right = self._columns[place]
        self._columns[place] = min(left, cell.left), max(right, cell.right)
        self.rows[-1][place] = f"{self.rows[-1][place]} {cell.text}".strip()


def table_at(lines: Sequence[Line], start: int) -> Table | None:
    """The table that begins with a line; None where none does."""
    if len(lines[start].cells) < 2:
        return None
    table = Table(lines[start])
    for line in lines[start + 1 :]:
        if not table.take(line):
            break
    return table if table.is_one else None


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table of Markdown, the first as its header."""
    header, *others = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)
    return "\n".join([header, f"|{'---|' * len(rows[0])}", *others])
