"""Dates and relative dates as intervals: "yesterday", "last Tuesday", "in March 2019", "two weeks ago"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache

from dateutil.relativedelta import relativedelta

from memory.reading.records import Validity

Interval = tuple[datetime, datetime]  # from, up to and without
Resolve = Callable[[re.Match[str], datetime], Interval | None]

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMERALS = {word: number for number, word in enumerate(_WORDS.split())}
_NUMBERS = NUMERALS | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3}
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = _MONTH_NAMES.split()
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_DAYS = _DAY_NAMES.split()
_MONTH = "|".join((*_MONTHS, *(rf"{name[:3]}\b\.?" for name in _MONTHS), "sept"))
_DAY = "|".join(_DAYS)
_NUMBER = "|".join((r"\d{1,3}", *sorted(_NUMBERS, key=len, reverse=True)))
_NEAR = {"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1}
_NEAR |= {"yesterday": -1, "last night": -1, "the day before yesterday": -2, "the day after tomorrow": 2}
_YEAR = r"(?:19|20)\d\d"

_WILL_BE = re.compile(
    r"\b(?:will|going to|am|are|is|meet|leave|fly|have|due|until|till|by|next"
    r"|as of|starting|from)\b"
)
_WAS = re.compile(r"\b(?:was|were|did|had|went|saw|got|met|left|flew|read|took|began|[a-z]{3,}ed)\b")


def first_interval(text: str, now: datetime) -> tuple[int, int, Interval] | None:
    """The first date of a text: where it stands, and its interval; of several at one place, the longest."""
    found = [
        (match.start(), -match.end(), interval)
        for pattern, resolve in _patterns()
        for match in pattern.finditer(text)
        if (interval := resolve(match, now))
    ]
    start, end, interval = min(found, default=(0, 0, None))
    return (start, -end, interval) if interval else None


def _day(moment: datetime, days: int = 1) -> Interval:
    midnight = datetime.combine(moment.date(), time(), moment.tzinfo)
    return midnight, midnight + timedelta(days=days)


def _span(moment: datetime, unit: str) -> Interval:
    """The day, week, month or year that a moment is of."""
    first = _day(moment)[0]
    match unit:
        case "week":
            first -= timedelta(days=moment.weekday())
        case "month":
            first = first.replace(day=1)
        case "year":
            first = first.replace(month=1, day=1)
    return first, first + relativedelta(**{f"{unit}s": 1})


def _past(match: re.Match[str], now: datetime) -> Interval:
    return now - _length(match), _day(now)[1]


def _unit(match: re.Match[str], now: datetime) -> Interval:
    shift = {"last": -1, "this": 0, "next": 1, "current": 0, "previous": -1}[match["which"]]
    return _span(now + relativedelta(**{f"{match['unit']}s": shift}), match["unit"])


def _weekday(match: re.Match[str], now: datetime) -> Interval:
    """The nearest such day: back after "last", ahead after "next" or "until"; as the verb says after "on"."""
    wanted = _DAYS.index(match["day"])
    back = (now.weekday() - wanted) % 7
    ahead = (wanted - now.weekday()) % 7
    before = match["which"] or ""
    if before.split(" ")[0] in ("next", "this", "coming", "until", "till", "by", "from", "starting"):
        return _day(now + timedelta(days=ahead or (7 if before == "next" else 0)))
    if before == "on" and _is_ahead(match.string):
        return _day(now + timedelta(days=ahead or 7))
    return _day(now - timedelta(days=back or 7))


def _date(match: re.Match[str], now: datetime) -> Interval | None:
    """A day or a month by its name; without a year, the next or the last one, as the verb says."""
    day, year = match["dom"] or match["day"], match["year"]
    if not (day or year or match["lead"]):
        return None  # "may" is a verb, too
    month = next(place for place, name in enumerate(_MONTHS, 1) if name[:3] == match["month"][:3])
    try:
        moment = now.replace(year=int(year or now.year), month=month, day=int(day or 1))
    except ValueError:
        return None
    ahead = _is_ahead(match.string)
    if not year and ahead != (moment >= _day(now)[0]):
        moment += relativedelta(years=1 if ahead else -1)
    return _day(moment) if day else _span(moment, "month")


def _iso(match: re.Match[str], now: datetime) -> Interval | None:
    try:
        return _day(datetime.combine(date.fromisoformat(match[0]), time(), now.tzinfo))
    except ValueError:
        return None


def _is_ahead(text: str) -> bool:
    """Whether a text without a year speaks of what is to come."""
    return bool(_WILL_BE.search(text)) and not _WAS.search(text) and "since" not in text


def _length(match: re.Match[str]) -> relativedelta:
    number = match["number"]
    return relativedelta(**{f"{match['unit']}s": int(number) if number.isdigit() else _NUMBERS[number]})


_LEAD = r"\b(?:in|since|until|till|by|from|before|during|(?:end|start|beginning|middle) of) (?:early |late )?"
_COUNT = rf"(?P<number>{_NUMBER}) (?P<unit>day|week|month|year)s?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_ROWS: tuple[tuple[str, Resolve], ...] = (
    (
        rf"\b(?:{'|'.join(sorted(_NEAR, key=len, reverse=True))})\b",
        lambda match, now: _day(now + timedelta(days=_NEAR[match[0]])),
    ),
    (
        rf"\b(?P<number>{_NUMBER}) (?P<unit>minute|hour|day|week|month|year)s? (?:ago|earlier|back)\b",
        lambda match, now: _day(now - _length(match)),
    ),
    (rf"\bin {_COUNT}(?: from now| time)?\b(?! ago)", lambda match, now: _day(now + _length(match))),
    (rf"\b(?:for|over|during|in) the (?:last|past) (?:{_COUNT})\b", _past),
    (rf"(?<=ve |as )[\w ]*\bfor (?:about |almost |over |more than )?{_COUNT}\b", _past),
    (r"\b(?P<which>last|this|next|current|previous) (?P<unit>week|month|year)\b", _unit),
    (
        r"\b(?P<which>last|next|this|coming|on|since|until|till|by|before|from|starting)(?: on)? "
        rf"(?P<day>{_DAY})\b",
        _weekday,
    ),
    (
        rf"(?P<lead>{_LEAD}|\b(?:last|next) )?\b(?:(?P<dom>\d{{1,2}}){_ORDINAL}(?: of)? )?(?P<month>{_MONTH})"
        rf"(?: (?P<day>\d{{1,2}}){_ORDINAL}(?!\d))?(?:,? (?P<year>{_YEAR}))?\b",
        _date,
    ),
    (rf"\b{_YEAR}-\d\d-\d\d\b", _iso),
    (
        rf"{_LEAD}(?:the year )?(?P<year>{_YEAR})\b(?![-/.]\d)",
        lambda match, now: _span(now.replace(year=int(match["year"]), day=1), "year"),
    ),
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], Resolve], ...]:
    return tuple((re.compile(pattern), resolve) for pattern, resolve in _ROWS)


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
