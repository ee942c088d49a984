"""Resolve "yesterday", "next week" or "on 3 May" in a message, counted from the day it was sent."""

from __future__ import annotations

import re
from datetime import date, timedelta

from memory.times import local

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
UNITS = {"day": 1, "week": 7}  # in days
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}

_MONTH = "|".join(MONTHS)
_PATTERN = re.compile(
    r"\b(?:(?P<near>yesterday|today|tonight|tomorrow)"
    rf"|(?P<which>last|next|this) (?P<of>{'|'.join(DAYS)}|week|month|year)"
    rf"|(?P<ago>\d{{1,3}}|{'|'.join(NUMBERS)}) (?P<unit>day|week)s? ago"
    rf"|in (?P<ahead>\d{{1,3}}|{'|'.join(NUMBERS)}) (?P<units>day|week)s?"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\b(?!,? \d{{4}})"
    rf"|(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? \d{{4}}))\b",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:was|were|had|did|since|ago|last|born|\w{3,}ed|went|came|got|met|saw|left)\b", re.I)


def meant_day(text: str, at: float | None) -> str:
    """Return what a relative day in a text means, as "yesterday: Sunday 7 May 2023"; "" without one.

    `at` is when the text was said. A day without a year lies ahead of it, unless the text tells the past.
    """
    match = _PATTERN.search(text)
    if at is None or match is None:
        return ""
    meant = _meant(match, local(at).date(), over=bool(_OVER.search(text)))
    return f"{match[0]}: {meant}" if meant else ""


def _meant(match: re.Match[str], said: date, *, over: bool) -> str:
    found = {name: value.lower() for name, value in match.groupdict().items() if value}
    if near := found.get("near"):
        return _words(said + timedelta(days={"yesterday": -1, "tomorrow": 1}.get(near, 0)))
    if which := found.get("which"):
        return _named(which, found["of"], said)
    if number := found.get("ago") or found.get("ahead"):
        days = (NUMBERS.get(number) or int(number)) * UNITS[found.get("unit") or found["units"]]
        return _words(said + timedelta(days=-days if "ago" in found else days))
    day, month = found.get("day") or found["day2"], found.get("month") or found["month2"]
    return "" if over else _next(int(day), MONTHS.index(month) + 1, said)


def _named(which: str, of: str, said: date) -> str:
    """Return the day, week, month or year that "last", "next" or "this" names."""
    step = {"last": -1, "this": 0, "next": 1}[which]
    if of in DAYS:
        ahead = (DAYS.index(of) - said.weekday()) % 7 or (7 if which == "next" else 0)
        return _words(said + timedelta(days=ahead - 7 if which == "last" else ahead))
    if of == "week":
        monday = said - timedelta(days=said.weekday() - 7 * step)
        return f"the week of {monday.day} {monday:%B} {monday.year}"
    if of == "month":
        months = said.year * 12 + said.month - 1 + step
        return f"{MONTHS[months % 12].capitalize()} {months // 12}"
    return str(said.year + step)


def _next(day: int, month: int, said: date) -> str:
    """Return the first such day of a month from the day on that it was said; "" where there is none."""
    for year in (said.year, said.year + 1):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= said:
            return _words(found)
    return ""


def _words(day: date) -> str:
    return f"{day:%A} {day.day} {day:%B} {day.year}"
