from __future__ import annotations

import pytest

from mission.alarms import active_alarms, record
from mission.ship import Ship
from mission.state import ShipState
from tests.mission.conftest import Change, advance


def codes(ship: Ship, state: ShipState) -> list[str]:
    return [alarm.code for alarm in active_alarms(ship, state)]


@pytest.mark.parametrize(
    ("value", "raised"),
    [(0.70, set()), (0.71, {"C-105"}), (1.05, {"C-105", "W-106"}), (1.65, {"C-105", "W-106", "W-107"})],
)
def test_the_ladder_of_carbon_dioxide(ship: Ship, sound: ShipState, value: float, raised: set[str]) -> None:
    sound.cabin["PPCO2"] = value
    assert set(codes(ship, sound)) - {"C-011"} == raised


def test_a_slot_in_an_alarm_follows_the_choice(ship: Ship, changed: Change) -> None:
    moved = {"ATM-CTRL": {"N2_TANK": "ECS-LN2-T2"}}
    assert "C-112" in codes(ship, changed(off=("ECS-LN2-T1",)))
    assert "C-112" not in codes(ship, changed(off=("ECS-LN2-T1",), on=("ECS-LN2-T2",), settings=moved))


def test_an_offline_controller_is_silent_except_for_its_own_warning(ship: Ship, changed: Change) -> None:
    found = active_alarms(ship, changed(off=("ECS-LN2-T1", "ATM-CTRL")))
    assert [(a.code, a.subject) for a in found] == [("W-012", "ATM-CTRL"), ("C-011", "ECS-CTRL")]


def test_a_value_beyond_a_limit_is_not_shown_as_the_limit(ship: Ship, sound: ShipState) -> None:
    sound.cabin["PPO2"] = 19.48
    text = next(a.text for a in active_alarms(ship, sound) if a.code == "W-103")
    assert text.endswith("19.480 kPa")


def test_the_log_names_the_cause_first_and_what_went(ship: Ship, sound: ShipState) -> None:
    sound.switches["ECS-LN2-T1"] = False
    new = record(ship, sound)
    assert [(a.code, a.subject) for a in new] == [
        ("C-112", "ATM-CTRL.N2_TANK"),
        ("C-011", "ATM-CTRL"),
        ("C-011", "ECS-CTRL"),
    ]
    assert record(ship, sound) == []
    sound.switches["ECS-LN2-T1"] = True
    later = advance(ship, sound, 3)
    record(ship, later)
    assert [entry.gone for entry in later.log] == [sound.minute + 3] * 3
