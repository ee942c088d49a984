"""Which of several dated entries is the newest: a log keeps what was true beside what is."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Sequence

from pipeline.answering.leaf_chances import Candidate
from pipeline.terms import content_terms, leaf_terms, text_terms

_NOW = re.compile(
    r"\b(?:right now|now|current(?:ly)?|latest|newest|most recent(?:ly)?|today|in use|installed"
    r"|at present)\b",
    re.IGNORECASE,
)
_MONTHS = [name.lower() for name in month_name[1:]]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b",
        rf"\b(?P<day>\d{{1,2}})\.? {_MONTH}\b(?:,? (?P<year>\d{{4}}))?",
        rf"\b{_MONTH} (?P<day>\d{{1,2}})\b(?:,? (?P<year>\d{{4}}))?",
    )
)
SEVERAL = 2  # dated entries about the same thing

Date = tuple[int, int, int]


def newest_leaves(question: str, candidates: Sequence[Candidate]) -> list[bool]:
    """Which leaves are of the newest dated section about what the question asks of the present; mostly none.

    Dated is what has a date in its own heading. It is about the question with all of its terms, and only of
    several such under one heading is one the newest.
    """
    nothing = [False] * len(candidates)
    # "SBT-1" is in "COM-SBT-1", whose parts are its terms, too
    terms = frozenset(term for term in content_terms(_NOW.sub(" ", question)) if "-" not in term)
    if not _NOW.search(question) or not terms:
        return nothing
    words: dict[int, set[str]] = {}
    entries: dict[tuple[str, ...], dict[Date, int]] = {}
    paths: dict[int, tuple[str, ...]] = {}
    for item in candidates:
        paths[item.section] = (item.leaf.metadata["source"], *item.leaf.metadata["heading_path"])
        words.setdefault(item.section, set()).update(leaf_terms(item.leaf))
    for section, path in paths.items():
        date = date_of(path[-1])
        if date and terms <= words[section] | text_terms(path[-1]):
            entries.setdefault(path[:-1], {})[date] = section
    logs = [log for log in entries.values() if len(log) >= SEVERAL]
    newest = {log[max(log)] for log in logs}
    return [item.section in newest for item in candidates]


def date_of(heading: str) -> Date | None:
    """Year (0 where there is none), month and day that a heading has; None without a date."""
    for pattern in _DATES:
        if found := pattern.search(heading):
            parts = found.groupdict()
            month = int(parts["number"]) if "number" in parts else _MONTHS.index(parts["month"].lower()) + 1
            return int(parts["year"] or 0), month, int(parts["day"])
    return None
