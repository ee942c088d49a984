"""The error for unknown levels and unusable files; refused commands raise `mission.commands.Refused`."""

from __future__ import annotations


class MissionError(Exception):
    """An unknown level, or a file that cannot be used; `problem` and `fix` can be shown to a player."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem} {fix}")
        self.problem, self.fix = problem, fix
