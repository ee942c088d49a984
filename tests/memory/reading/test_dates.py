"""Dates are resolved against the time of the message."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.reading.intervals import validity_of
from tests.memory.tables import rows

NOW = datetime(2026, 3, 18, 15, 0, tzinfo=UTC)  # a Wednesday


def day(moment: float | None) -> str:
    return "-" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def test_dates() -> None:
    """Each row: the first day, the day after the last, or "-"; the words that say so; the message."""
    wrong = []
    for *expected, text in rows("reading/dates.tsv"):
        found = validity_of(text, said_at=NOW.timestamp())
        read = [day(found.valid_at), day(found.invalid_at), text[found.start : found.end]]
        wrong += [(text, read)] if read != expected else []
    assert wrong == []


@pytest.mark.parametrize("text", ["I like tea", "it takes 3 days", "version 2019", "on 2024-02-30", ""])
def test_what_names_no_date_is_true_from_now_on(text: str) -> None:
    found = validity_of(text, said_at=NOW.timestamp())
    assert (found.valid_at, found.invalid_at, found.start) == (NOW.timestamp(), None, None)


def test_days_begin_at_midnight_of_the_zone() -> None:
    late = datetime(2026, 3, 18, 23, 30, tzinfo=UTC).timestamp()
    here = validity_of("I moved yesterday", said_at=late, zone=ZoneInfo("Asia/Tokyo"))
    assert datetime.fromtimestamp(here.valid_at, UTC) == datetime(2026, 3, 17, 15, tzinfo=UTC)
