"""Lines of the console with the places that are to be coloured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

SpanKind = Literal["NOMINAL", "MALFUNC", "OFFLINE", "warning", "caution", "error", "limits", "good"]

_MARKS = re.compile(
    r"(?P<NOMINAL>\bNOMINAL\b)|(?P<MALFUNC>\bMALFUNC\b)|(?P<OFFLINE>\bOFFLINE\b)"
    r"|(?P<warning>\bW-\d{3}\b|\bMISSION LOST\b)|(?P<caution>\bC-\d{3}\b)|(?P<error>\bE-\d{2} [A-Z ]+[A-Z])"
    r"|(?P<limits>\bOUT OF LIMITS\b)|(?P<good>\bCRISIS AVERTED\b|\bF-00 PASS\b)"
)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` of a line, and what they are."""

    start: int
    end: int
    kind: SpanKind


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output."""

    text: str
    spans: tuple[Span, ...] = ()


def marked(lines: Iterable[str]) -> tuple[Line, ...]:
    """The lines with their statuses, codes and errors marked."""
    return tuple(Line(text, tuple(_spans(text))) for text in lines)


def _spans(text: str) -> Iterable[Span]:
    for match in _MARKS.finditer(text):
        kind: SpanKind = match.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        yield Span(match.start(), match.end(), kind)
