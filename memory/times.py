"""Times: seconds since the epoch to the microsecond, outside as ISO 8601; and which rows a time sees."""

from __future__ import annotations

import math
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline.errors import AthenaError

if TYPE_CHECKING:
    from pipeline.stores.memories import Memory

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_S, LAST_S = -62_135_596_800, 253_402_300_799
"""The seconds that calendars begin and end with, in the years 1 and 9999: zones reach beyond them."""
LEAST_SECONDS = 100_000_000  # of 1973: "2020" is a year, and no time
DATE_FIX = "Write it as 2026-03-14 or 2026-03-14T09:30."


def now() -> float:
    """The time."""
    return round(time.time(), 6)


def iso(seconds: float | None) -> str | None:
    """A time as ISO 8601 in UTC; None stays None."""
    if seconds is None:
        return None
    return _moment(seconds).isoformat(timespec="microseconds")


def begun(memory: Memory) -> float:
    """Since when a memory is true, in epoch seconds; 0 where only its end is known."""
    return memory.created_at if memory.valid_at is None else memory.valid_at


def local(seconds: float) -> datetime:
    """A time as a user's clock shows it; as UTC has it where that is beyond the calendar."""
    moment = _moment(seconds)
    try:
        return moment.astimezone()
    except (ValueError, OverflowError):
        return moment


def local_day(seconds: float | None) -> str:
    """The day of a time where the user is, as "2026-03-14"; "" for None."""
    return "" if seconds is None else local(seconds).date().isoformat()


def read_date(text: str, *, name: str = "date", begin: bool = False) -> float:
    """The seconds of an ISO date or time: a day means its end, or its `begin`; local by default.

    A number is read as seconds since the epoch, but no small one: that is a year. Raises `AthenaError`.
    """
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
        if len(text) <= len("2026-03-14") and not begin:
            moment += timedelta(days=1, microseconds=-1)
        return in_seconds(moment)
    except (ValueError, OverflowError) as error:  # in the first or last year that there is
        with suppress(ValueError):
            if LEAST_SECONDS <= abs(seconds := float(text)) < math.inf:
                return round(seconds, 6)
        if re.fullmatch(r"\d{4}(?:-\d\d?)?", text):
            fix = f"Write a day, as {text[:4]}-01-01."
            raise AthenaError(f"{name} cannot be '{text}': it is not a day.", fix) from error
        raise AthenaError(f"{name} cannot be '{text}': it is not a date.", DATE_FIX) from error


def in_seconds(moment: datetime) -> float:
    """The seconds of a time; local where it has no zone."""
    return _within(moment.timestamp())


def _moment(seconds: float) -> datetime:
    return EPOCH + timedelta(microseconds=round(_within(seconds) * 1e6))


def _within(seconds: float) -> float:
    return min(max(seconds, FIRST_S), LAST_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When memories are looked at: what was true `as_of` a time, what we knew `known_at` one.

    With neither, it is what is true now as far as we know. What ended a fact was learnt when it expired:
    known before that, it has no end.
    """

    now: float
    as_of: float | None = None
    known_at: float | None = None
    always: bool = False  # history included

    def sees(self, memory: Memory) -> bool:
        """Whether a memory is seen from there."""
        endless = float("inf")
        ended = endless if memory.invalid_at is None else memory.invalid_at
        expired = endless if memory.expired_at is None else memory.expired_at
        if self.always:
            return True
        ended_later = self.known_at is not None and expired < endless
        if self.known_at is not None:
            known = memory.created_at <= self.known_at < expired
        else:
            known = expired > self.now or (self.as_of is not None and ended < endless)
        if self.as_of is not None:
            return known and begun(memory) <= self.as_of and (self.as_of < ended or ended_later)
        return known and (ended > (self.now if self.known_at is None else self.known_at) or ended_later)
