from __future__ import annotations

import pytest

from mission.parts import Quantity, Setting


@pytest.mark.parametrize(
    ("word", "kept"),
    [("21", "21.0"), ("20.55", "20.55"), ("26.0", "26.0"), ("26.1", None), ("much", None), ("nan", None)],
)
def test_a_number_is_kept_as_it_is_shown(word: str, kept: str | None) -> None:
    setting = Setting(key="SETPOINT", default="21.0", min=16, max=26, unit="kPa")
    assert setting.accept(word) == kept


def test_words_and_patterns_are_accepted_in_either_case() -> None:
    assert Setting(key="MODE", default="A", values=("A", "B")).accept("b") == "B"
    key = Setting(key="KEY", default="MESA-31", pattern="[A-Z]{3,9}-[0-9]{2}")
    assert key.accept("reef-19") == "REEF-19"
    assert key.accept("REEF19") is None


def test_limits_are_inclusive_and_zero_has_no_sign() -> None:
    quantity = Quantity(key="PRESSURE", unit="kPa", nominal=70.0, min=67.0, max=73.0)
    assert quantity.within(67.0)
    assert not quantity.within(66.99)
    assert quantity.shown(-0.01) == "0.0"
