"""The error that the simulator raises on purpose; the console answers typing errors itself."""

from __future__ import annotations


class MissionError(Exception):
    """No such level, or a file that cannot be read or written; the text can be shown to a player."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(f"{problem} {fix}")
        self.problem, self.fix = problem, fix
