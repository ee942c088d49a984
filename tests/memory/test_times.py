"""Dates as users write them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from dateutil.tz import tzlocal

from memory.reading.intervals import validity_of
from memory.times import DATE_FIX, iso, local_day, read_date
from pipeline.errors import AthenaError


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-03-14T09:30+00:00", "2026-03-14T09:30:00.000000+00:00"),
        ("2026-03-14T09:30-02:00", "2026-03-14T11:30:00.000000+00:00"),
        ("1772323200", "2026-03-01T00:00:00.000000+00:00"),
    ],
)
def test_a_time_keeps_its_zone(text: str, read: str) -> None:
    assert iso(read_date(text)) == read


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_berlin")
@pytest.mark.parametrize("day", ["2026-01-03", "2026-07-03"])
def test_a_day_is_shown_as_it_was_said_where_the_user_is(day: str) -> None:
    begun = validity_of(
        f"I have lived in Bonn since {day}.", said_at=read_date("2026-08-01"), zone=tzlocal()
    ).valid_at
    assert begun == read_date(f"{day}T00:00")
    assert local_day(begun) == day
    assert iso(begun) != iso(read_date(f"{day}T00:00+00:00"))


def test_a_day_means_its_end() -> None:
    assert read_date("2026-03-14") == pytest.approx(read_date("2026-03-14T23:59:59.999999"), abs=1e-5)


@pytest.mark.parametrize("text", ["", "yesterday", "nan", "inf", "-inf", "1e999", "0001-01-01", "2026-02-30"])
def test_what_is_no_date_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(AthenaError, match="--as-of") as refused:
        read_date(text, name="--as-of")
    assert refused.value.fix == DATE_FIX
