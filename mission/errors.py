"""Every error that the simulator raises on purpose; what a player mistypes is answered by the console.

MissionError
├── ShipFileError     the list of the ship cannot be read or contradicts itself
├── LevelError        a level's file cannot be read, or no level has that name
└── SavedGameError    a saved game or the best times cannot be read or written

A message says what failed, on what, and what to do.
"""

from __future__ import annotations


class MissionError(Exception):
    """The root: ``str(error)`` can be shown to a player; ``fix`` is the advice alone, or empty."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(f"{problem} {fix}".strip())
        self.problem = problem
        self.fix = fix


class ShipFileError(MissionError):
    """The list of the ship cannot be read or contradicts itself."""


class LevelError(MissionError):
    """A level's file cannot be read, or no level has that name."""


class SavedGameError(MissionError):
    """A saved game or the best times cannot be read or written."""
