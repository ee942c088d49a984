from __future__ import annotations

import pytest

from mission.alarms import active_alarms, record
from mission.ship import Ship
from mission.state import Fault, ShipState
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


def test_the_worst_step_of_a_ladder_comes_first(ship: Ship, sound: ShipState) -> None:
    sound.cabin["PPCO2"] = 1.7
    assert codes(ship, sound)[:2] == ["W-107", "W-106"]
    assert codes(ship, sound).index("C-105") < codes(ship, sound).index("C-011")


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


def test_every_alarm_can_be_raised(ship: Ship, changed: Change) -> None:
    """One situation for each code, so that no row of the list is dead."""
    hot, fed = {"FLOW": 0.0}, {"CHARGE": 10.0}
    situations = [
        changed(
            off=("ATM-CTRL", "ECS-LOX-T1", "ECS-FAN-1"), cabin={"PPCO2": 1.7, "TEMP": 30, "HUMIDITY": 80}
        ),
        changed(cabin={"PRESSURE": 66.0, "PPO2": 18.0}),
        changed(cabin={"PRESSURE": 74.5, "PPO2": 24.0}),
        changed(off=("ECS-LN2-T1", "ECS-WTP-1", "EPS-INV-1", "CMP-CPU-1")),
        changed(minutes=3, settings={"ECS-LN2-T1": {"VALVE": "CLOSED"}, "EPS-H2-T1": {"VALVE": "CLOSED"}}),
        changed(quantities={"ECS-LOX-T1": {"PRESSURE": 5000}, "ECS-CO2-A": {"SATURATION": 90}}),
        changed(quantities={"ECS-SMK-1": {"OBSCURATION": 9}, "ECS-CLV-1": {"COOLANT_TEMP": 40}}),
        changed(on=("ECS-CO2-L",), quantities={"ECS-CO2-L": {"LIFE": 2}, "STO-LKR-1": {"CARTRIDGES": 0}}),
        changed(minutes=60, faults={"ECS-RAD-1": Fault("leak", rate=60), "ECS-CLP-1": Fault("stuck", hot)}),
        changed(quantities={"ECS-WPR-1": {"CONDUCTIVITY": 80}, "ECS-WST-1": {"QUANTITY": 95}}),
        changed(quantities={"EPS-BAT-1": fed}, settings={"EPS-FC-1": {"MODE": "STANDBY"}}),
        changed(settings={"EPS-BUS-A": {"BREAKER": "OPEN"}}),
        changed(quantities={"EPS-FC-1": {"STACK_TEMP": 100}, "EPS-H2-T1": {"PRESSURE": 1200}}),
        changed(quantities={"PRP-FUT-1": {"QUANTITY": 30, "PRESSURE": 1300}, "PRP-HE-1": {"PRESSURE": 5000}}),
        changed(quantities={"PRP-RCS-A": {"VALVE_TEMP": 0}, "GNC-IMU-1": {"ATT_ERROR": 2}}),
        changed(settings={"GNC-STR-1": {"SHUTTER": "CLOSED"}}, quantities={"GNC-RDR-1": {"TUBE_TEMP": 80}}),
        changed(settings={"COM-SBT-1": {"KEY": "MESA-31"}}, quantities={"COM-VHF-1": {"SQUELCH": -120}}),
        changed(settings={"COM-HGA-1": {"POINTING": "MANUAL", "AZIMUTH": "0"}}),
        changed(quantities={"CMP-CPU-1": {"TEMP": 80}, "CMP-MEM-1": {"ERRORS": 90}}),
        changed(
            faults={"CMP-NET-1": Fault("spent", key="PATH", value="A")}, quantities={"STO-FRZ-1": {"TEMP": 0}}
        ),
    ]
    armed = changed()
    armed.events.append("alarm W-304")
    raised = {code for state in (*situations, armed) for code in codes(ship, state)}
    assert {row.code for row in ship.alarms} - raised == set()
