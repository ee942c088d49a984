"""When a statement is true: dates and relative dates, resolved against the time it was said.

A day, a month or a year is an interval. What began then ("moved", "since") is true from its begin on; what
only was or is so then ("lived", "am in Rome today") is true within it; "until" gives the end alone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from memory.extracting.intervals import first_interval
from memory.extracting.records import Validity

UNKNOWN = 0.0  # since when it was true, of what only says until when it was

_BEGAN = re.compile(
    r"\b(?:since|as of|starting|moved|moving|move|started|start|began|joined|joining|bought|got|became"
    r"|switched|changed|married|adopted|retired|quit|left|graduated|born|hired|promoted|founded|opened|sold|died"
    r"|finished|ended|stopped|replaced|installed|upgraded|turned)\b"
    r"|\b(?:have|has|['’]ve) been\b.*\b(?:past|now)\b"
    r"|\b(?:have|has|['’]ve|['’]s)\b.*\bfor (?:the (?:past|last) )?(?:[\w ]+ )?"
    r"(?:days?|weeks?|months?|years?|decades?)\b"
)
_FROM = re.compile(r"\bfrom\b")
_BOUND = re.compile(r"\b(?:until|till|up to|before|by)\b")
_BETWEEN = r"(?: (?:the|this|next|end|beginning|start|middle|of))*\s*$"
_BOUND_BEFORE = re.compile(_BOUND.pattern + _BETWEEN)
_TO = re.compile(r"\s*(?:to|until|till|through|[-–])\s*")


def dated(text: str, *, said_at: float, zone: tzinfo = UTC) -> bool:
    """Whether a text names a date."""
    return first_interval(text.lower(), datetime.fromtimestamp(said_at, zone)) is not None


def validity_of(text: str, *, said_at: float, zone: tzinfo = UTC) -> Validity:
    """From when until when a text says that something is true; from `said_at` on where it does not say.

    A first date counts, and a second one after "from … to". Days begin at midnight of `zone`.
    """
    lowered = text.lower()
    now = datetime.fromtimestamp(said_at, zone)
    found = first_interval(lowered, now)
    if not found or len(lowered) != len(text):
        return Validity(said_at)
    start, end, interval = found
    begin, until = (moment.timestamp() for moment in interval)
    if bound := _BOUND.match(lowered, start) or _BOUND_BEFORE.search(lowered, 0, start):
        if bound[0].startswith(("before", "by")):
            until = begin
        return Validity(said_at if until > said_at else UNKNOWN, until, bound.start(), end)
    to = _TO.match(lowered, end)
    second = first_interval(f"until {lowered[to.end() :]}", interval[0]) if to else None
    if to and second and second[0] <= len("until "):
        return Validity(begin, second[2][1].timestamp(), start, to.end() + second[1] - len("until "))
    begins = _BEGAN.search(lowered) or _FROM.match(lowered, start)
    return Validity(begin, None if begins else until, start, end)
