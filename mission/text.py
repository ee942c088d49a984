"""Texts: console lines with the places to colour, durations, and files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mission.errors import SavedGameError

MarkKind = Literal["NOMINAL", "MALFUNC", "OFFLINE", "warning", "caution", "error", "limits", "good"]

HOW_TO_BEGIN = "Type help for the commands, hint, or quit (the game is saved)."

_MARKS = re.compile(
    r"(?P<NOMINAL>\bNOMINAL\b)|(?P<MALFUNC>\bMALFUNC\b)|(?P<OFFLINE>\bOFFLINE\b)"
    r"|(?P<warning>\bW-\d{3}\b|\bMISSION LOST\b)|(?P<caution>\bC-\d{3}\b)|(?P<error>\bE-\d{2} [A-Z ]+[A-Z])"
    r"|(?P<limits>\bOUT OF LIMITS\b)|(?P<good>\bCRISIS AVERTED\b|\bF-00 PASS\b)"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters `start` to `end` of a line, and their kind."""

    start: int
    end: int
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output."""

    text: str
    marks: tuple[Mark, ...] = ()


def marked(lines: Iterable[str]) -> tuple[Line, ...]:
    """The lines with their statuses, codes and errors marked."""
    return tuple(Line(text, tuple(_marks_in(text))) for text in lines)


def _marks_in(text: str) -> Iterable[Mark]:
    for match in _MARKS.finditer(text):
        kind: MarkKind = match.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        yield Mark(match.start(), match.end(), kind)


def duration(seconds: int) -> str:
    """A span of ship's time, `2 h 05 min`."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all, and create its folder; raise SavedGameError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise SavedGameError(
            f"Cannot save '{path}': {error.strerror or error}.",
            "Free some space, make the folder writable, or name another data folder.",
        ) from error
