"""Times: seconds since the epoch inside, ISO 8601 in JSON, local days in words."""

from __future__ import annotations

import re
import time
from datetime import date, timedelta

# In English, whatever the locale of the process: `calendar` would use the locale's language.
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
NEAR = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}  # days from the day of the message

_NUMBER, _MONTH = rf"\d{{1,3}}|{'|'.join(NUMBERS)}", "|".join(MONTHS)
_DAY = re.compile(
    rf"\b(?:(?P<near>{'|'.join(NEAR)})"
    rf"|(?P<which>last|next|this) (?P<weekday>{'|'.join(DAYS)})"
    rf"|(?P<ago>{_NUMBER}) (?P<unit>day|week)s? ago|in (?P<ahead>{_NUMBER}) (?P<units>day|week)s?"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\b(?!,? \d{{4}})"
    rf"|(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? \d{{4}}))\b",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:was|were|had|did|since|last|born|\w{3,}ed|went|came|got|met|saw|left)\b", re.I)


def now() -> float:
    """Return the present time in seconds since the epoch, rounded to microseconds."""
    return round(time.time(), 6)


def date_words(at: float | None) -> str:
    """Return the local day of a time as "Monday 8 May 2023"; "" for None."""
    return "" if at is None else _words(date.fromtimestamp(at))


def meant_day(text: str, at: float | None) -> str:
    """Return the date of a text's first relative day, as "yesterday: Sunday 7 May 2023"; "" without one.

    `at` is the text's time (epoch seconds). "8 May" is the next one; it is ignored in a text about the past.
    """
    match = _DAY.search(text)
    meant = _meant(match, date.fromtimestamp(at), over=bool(_OVER.search(text))) if match and at else None
    return f"{match[0]}: {_words(meant)}" if match and meant else ""


def _meant(match: re.Match[str], said: date, *, over: bool) -> date | None:
    found = {name: value.lower() for name, value in match.groupdict().items() if value}
    if near := found.get("near"):
        return said + timedelta(days=NEAR[near])
    if which := found.get("which"):
        ahead = (DAYS.index(found["weekday"]) - said.weekday()) % 7 or (7 if which == "next" else 0)
        return said + timedelta(days=ahead - 7 if which == "last" else ahead)
    if number := found.get("ago") or found.get("ahead"):
        days = NUMBERS.get(number) or int(number)
        days *= 7 if (found.get("unit") or found.get("units")) == "week" else 1
        return said + timedelta(days=-days if "ago" in found else days)
    day, month = found.get("day") or found["day2"], found.get("month") or found["month2"]
    return None if over else _next(int(day), MONTHS.index(month) + 1, said)


def _next(day: int, month: int, said: date) -> date | None:
    """Return the first date with this day and month from `said` on; None if this and next year have none."""
    for year in (said.year, said.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= said:
            return found
    return None


def _words(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"
