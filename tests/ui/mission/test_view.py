"""A game as data for its components."""

from __future__ import annotations

import pytest

from mission.console import complete
from mission.game import Game
from mission.levels import all_levels
from mission.parts import Quantity
from mission.ship import the_ship
from mission.views import Gauge
from ui.mission.view import completions, gauge_view, line_view, ship_view, strip_view

OXYGEN = Quantity(key="PPO2", unit="kPa", nominal=21.0, min=20.0, max=24.0, environment=True)


def test_a_gauge_shows_a_quarter_beyond_its_limits() -> None:
    # 20 to 24 with a margin of 1 on both sides: the bar runs from 19 to 25
    view = gauge_view(Gauge("oxygen", "ECS-CAB-S1", OXYGEN, 22.0))
    assert (view["from"], view["at"], view["to"]) == (16.7, 50.0, 83.3)
    assert (view["value"], view["within"], view["limits"]) == ("22.0", True, "limits 20.0 to 24.0")
    high = gauge_view(Gauge("oxygen", "ECS-CAB-S1", OXYGEN, 99.0))
    assert (high["at"], high["within"]) == (100.0, False)
    off = gauge_view(Gauge("oxygen", "ECS-CAB-S1", OXYGEN, None))
    assert (off["at"], off["value"], off["within"]) == (None, "-", True)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("halcyon> list systems", "command"),
        ("09:13  W-106  CO2 HIGH  PPCO2 is 1.20 kPa", "alarm"),
        ("CRISIS AVERTED", "end"),
        ("MISSION LOST: no air", "end"),
        ("ECS  environmental control system   NOMINAL", ""),
    ],
)
def test_lines_are_what_they_are(text: str, kind: str) -> None:
    assert line_view(text, "halcyon>")["kind"] == kind


def test_spans_are_places_in_the_line() -> None:
    view = line_view("ECS-LN2-T1 is now NOMINAL", "halcyon>")
    assert view["spans"] == [[18, 25, "NOMINAL"]]


@pytest.mark.parametrize(
    "line", ["", "list ", "list parts ", "power on ", "set ATM-CTRL ", "telemetry ECS-N2-R1 ", "wait "]
)
def test_completions_are_those_of_the_console(line: str) -> None:
    assert completions()[line.strip().lower()] == complete(the_ship(), line)


@pytest.mark.parametrize("level", all_levels())
def test_every_level_can_be_drawn(level: str) -> None:
    game = Game.start(level)
    assert [(row["id"], row["depth"]) for row in ship_view(game)["systems"]][:2] == [("ECS", 0), ("ATM", 1)]
    strip = strip_view(game)
    assert strip["alarms"] or level == "headache" or not game.alarms()
