"""Formatting for the console: which words of a line to colour, and durations."""

from __future__ import annotations

import re

HOW_TO_BEGIN = "Type help for the commands, hint, or quit (the game is saved)."

_MARKS = re.compile(
    r"(?P<NOMINAL>\bNOMINAL\b)|(?P<MALFUNC>\bMALFUNC\b)|(?P<OFFLINE>\bOFFLINE\b)"
    r"|(?P<warning>\bW-\d{3}\b|\bMISSION LOST\b)|(?P<caution>\bC-\d{3}\b)|(?P<error>\bE-\d{2} [A-Z ]+[A-Z])"
    r"|(?P<limits>\bOUT OF LIMITS\b)|(?P<good>\bCRISIS AVERTED\b|\bF-00 PASS\b)"
)


def marks(line: str) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of each word to colour in a line; kinds are the group names of `_MARKS`."""
    return [(match.start(), match.end(), str(match.lastgroup)) for match in _MARKS.finditer(line)]


def duration(seconds: int) -> str:
    """Format seconds of ship's time, rounded to minutes: `2 h 05 min`, or `5 min` below an hour."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
