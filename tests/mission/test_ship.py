from __future__ import annotations

from pathlib import Path

import pytest

from mission.errors import ShipFileError
from mission.parts import Quantity, Setting, decimals
from mission.ship import SHIP_FILE, load_ship


def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShipFileError, match=r"lost\.toml"):
        load_ship(tmp_path / "lost.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("[ship", encoding="utf-8")
    with pytest.raises(ShipFileError, match=r"bad\.toml"):
        load_ship(bad)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('depends_on = ["AIR-CTRL.FAN"]', 'depends_on = ["AIR-CTRL.WIND"]', "AIR-CTRL.WIND"),
        ('of = ["ECS-WPR-1"]', 'of = ["ECS-WPR-9"]', "ECS-WPR-9"),
        ('kind = "freezer"', 'kindness = "freezer"', "kind"),
        ('like = "ECS-FAN-1"', 'like = "ECS-FAN-7"', "ECS-FAN-7"),
    ],
)
def test_a_contradiction_is_named(tmp_path: Path, old: str, new: str, named: str) -> None:
    text = SHIP_FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "ship.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ShipFileError, match=named):
        load_ship(path)


@pytest.mark.parametrize(("numbers", "places"), [((70.0, 67), 1), ((0.17, 0.0), 2), ((2300, 2000), 0)])
def test_places_are_those_that_were_written(numbers: tuple[float, ...], places: int) -> None:
    assert decimals(*numbers) == places


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
