"""What both derived indexes find: a node by its number, with its score."""

from __future__ import annotations

from typing import NamedTuple


class Scored(NamedTuple):
    """A found node by its number, with its score."""

    number: int
    score: float
