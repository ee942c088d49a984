"""How much of a result is sent: 25 kB as JSON, cut between items and lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from athena.tools.tool import shape_of

Item = TypeVar("Item")

MOST = 25_000
"""Bytes of a result, as JSON."""
AROUND = 2_000
"""Bytes of them that are left for what stands around items and texts."""
ROOM = MOST - AROUND


def size(value: Any) -> int:
    """Bytes of a value as JSON."""
    return len(as_json(value).encode())


def as_json(value: Any) -> str:
    """A value as JSON, as short as it can be read."""
    return json.dumps(value, ensure_ascii=False)


def fitting(items: Iterable[Item], *, room: int = ROOM) -> Sequence[Item]:
    """The first of the items that fit into so many bytes; the first of all in any case."""
    kept: list[Item] = []
    for item in items:
        room -= size(shape_of(item)) + 2
        if kept and room < 0:
            break
        kept.append(item)
    return kept


@dataclass(frozen=True, slots=True)
class Lines:
    """Some lines of a text: the first and last, from 1, and where in the next line the rest begins."""

    text: str
    first: int
    last: int
    rest: str = ""  # what `lines` has to say for the rest; "" where nothing is left

    @property
    def numbers(self) -> str:
        """The lines, "10-40"."""
        return f"{self.first}-{self.last}"


def cut_lines(
    text: str, *, first: int = 1, last: int | None = None, skip: int = 0, room: int = ROOM
) -> Lines:
    """Lines `first` to `last` of a text, as many as fit; without the first `skip` characters of the first.

    A line that is too long by itself is cut, too.
    """
    lines = text.split("\n")
    last = min(last or len(lines), len(lines))
    kept: list[str] = []
    for number in range(first, last + 1):
        line = lines[number - 1][skip if number == first else 0 :]
        room -= size(line)  # its quotation marks stand for the line's end
        if room < 0 and kept:
            return Lines("\n".join(kept), first, number - 1, f"{number}-{last}")
        if room < 0:
            part = _beginning(line, room + size(line))
            return Lines(part, first, first, f"{first}.{skip + len(part)}-{last}")
        kept.append(line)
    return Lines("\n".join(kept), first, last)


def _beginning(line: str, room: int) -> str:
    """As many characters as fit."""
    low, high = 1, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(line[:middle]) <= room else (low, middle - 1)
    return line[:low]
