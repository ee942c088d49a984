"""Dates are resolved against the time of the message."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.extracting import validity_of

NOW = datetime(2026, 3, 18, 15, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "begin", "end", "words"),
    [
        ("I moved to Berlin yesterday", "2026-03-17", None, "yesterday"),
        ("I was in Paris last Tuesday", "2026-03-17", "2026-03-18", "last Tuesday"),
        ("I lived in Oslo in 2019", "2019-01-01", "2020-01-01", "in 2019"),
        ("We moved two weeks ago", "2026-03-04", None, "two weeks ago"),
        ("I have worked here since March", "2026-03-01", None, "since March"),
        ("I have lived here since 2015", "2015-01-01", None, "since 2015"),
        ("I am in Rome until Friday", "2026-03-18", "2026-03-21", "until Friday"),
        ("I worked at ABB from 2015 to 2018", "2015-01-01", "2019-01-01", "from 2015 to 2018"),
        ("I'm off from Monday to Thursday", "2026-03-23", "2026-03-27", "from Monday to Thursday"),
        ("I am on holiday next week", "2026-03-23", "2026-03-30", "next week"),
        ("I fly to Madrid tomorrow", "2026-03-19", "2026-03-20", "tomorrow"),
        ("My exam is on May 12th", "2026-05-12", "2026-05-13", "May 12th"),
        ("I was born on 3 June 1988", "1988-06-03", None, "3 June 1988"),
        ("In the summer of 2020 I studied in Graz", "2020-06-01", "2020-09-01", "In the summer of 2020"),
        ("I started on Monday", "2026-03-16", None, "on Monday"),
        ("I meet Ann on Friday", "2026-03-20", "2026-03-21", "on Friday"),
        ("I read it in April", "2025-04-01", "2025-05-01", "in April"),
        ("I worked at ABB until 2018", "1970-01-01", "2019-01-01", "until 2018"),
        ("I used bash before 2020", "1970-01-01", "2020-01-01", "before 2020"),
        ("I bought it on 2024-02-28", "2024-02-28", None, "2024-02-28"),
    ],
)
def test_dates(text: str, begin: str, end: str | None, words: str) -> None:
    found = validity_of(text, said_at=NOW.timestamp())
    assert datetime.fromtimestamp(found.valid_at, UTC).strftime("%Y-%m-%d") == begin
    until = None if found.invalid_at is None else datetime.fromtimestamp(found.invalid_at, UTC)
    assert (until and until.strftime("%Y-%m-%d")) == end
    assert text[found.start : found.end] == words


@pytest.mark.parametrize("text", ["I like tea", "it takes 3 days", "version 2019", "on 2024-02-30", ""])
def test_what_names_no_date_is_true_from_now_on(text: str) -> None:
    found = validity_of(text, said_at=NOW.timestamp())
    assert (found.valid_at, found.invalid_at, found.start) == (NOW.timestamp(), None, None)


def test_days_begin_at_midnight_of_the_zone() -> None:
    late = datetime(2026, 3, 18, 23, 30, tzinfo=UTC).timestamp()
    here = validity_of("I moved yesterday", said_at=late, zone=ZoneInfo("Asia/Tokyo"))
    assert datetime.fromtimestamp(here.valid_at, UTC) == datetime(2026, 3, 17, 15, tzinfo=UTC)
