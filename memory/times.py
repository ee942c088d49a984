"""Times: seconds since the epoch inside, ISO 8601 in JSON, local days in words."""

from __future__ import annotations

import math
import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from pipeline.errors import AthenaError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799
"""The first second of year 1 and the last one of year 9999."""
LEAST_SECONDS = 100_000_000  # in 1973: a smaller number is a year, as in "2020"
DATE_FIX = "Write it as 2026-03-14 or 2026-03-14T09:30."


def now() -> float:
    """Return the present time, to the microsecond."""
    return round(time.time(), 6)


def iso(seconds: float | None) -> str | None:
    """Return a time as ISO 8601 in UTC; None stays None."""
    return None if seconds is None else _moment(seconds).isoformat(timespec="microseconds")


def local(seconds: float) -> datetime:
    """Return a time in the local zone; in UTC at the ends of the calendar."""
    moment = _moment(seconds)
    try:
        return moment.astimezone()
    except (ValueError, OverflowError):
        return moment


def local_day(seconds: float | None) -> str:
    """Return the local day of a time as "2026-03-14"; "" for None."""
    return "" if seconds is None else local(seconds).date().isoformat()


def date_words(at: float | None) -> str:
    """Return the local day of a time as "Monday 8 May 2023"; "" for None."""
    if at is None:
        return ""
    moment = local(at)
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


def read_date(text: str, *, name: str = "date", begin: bool = False) -> float:
    """Return the seconds of an ISO date or time, local where it names no zone.

    A day means its last microsecond, or its first with `begin`. A large number is read as seconds since the
    epoch. Raises `AthenaError` for any other text.
    """
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= len("2026-03-14") and not begin:
            moment += timedelta(days=1, microseconds=-1)
        return in_seconds(moment)
    except (ValueError, OverflowError) as error:
        with suppress(ValueError):
            if LEAST_SECONDS <= abs(seconds := float(text)) < math.inf:
                return round(seconds, 6)
        if re.fullmatch(r"\d{4}(?:-\d\d?)?", text):
            fix = f"Write a day, as {text[:4]}-01-01."
            raise AthenaError(f"{name} cannot be '{text}': it is not a day.", fix) from error
        raise AthenaError(f"{name} cannot be '{text}': it is not a date.", DATE_FIX) from error


def in_seconds(moment: datetime) -> float:
    """Return a time in seconds, within the calendar."""
    return _within(moment.timestamp())


def _moment(seconds: float) -> datetime:
    return EPOCH + timedelta(microseconds=round(_within(seconds) * 1e6))


def _within(seconds: float) -> float:
    return min(max(seconds, FIRST_S), LAST_S)
