"""The numbers that the manuals state, by hand arithmetic; conservation of gas; and steps of any size."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mission.air import GAS_KG_PER_KPA, LN2_TANK_KG, LOX_TANK_KG
from mission.alarms import active_alarms
from mission.ship import Ship
from mission.state import Fault, ShipState, sound_state
from tests.mission.conftest import Change, advance

H = 60
STUCK: dict[str, Any] = {
    "faults": {"ECS-CLP-1": Fault("stuck", {"FLOW": 0.0})},
    "quantities": {"ECS-CLP-1": {"FLOW": 0.0}},
}
BED_SHUT = {"settings": {"ECS-CO2-A": {"VENT": "CLOSED"}}}
LIOH: dict[str, Any] = {
    "on": ("ECS-CO2-L",),
    "settings": {"AIR-CTRL": {"CO2_BED": "ECS-CO2-L"}, "ECS-CO2-L": {"CARTRIDGE": "LOADED"}},
}
RELIEF_SHUT = {"ECS-CPR-V1": {"MODE": "CLOSED"}}


def codes(ship: Ship, state: ShipState) -> set[str]:
    return {alarm.code for alarm in active_alarms(ship, state)}


def test_a_sound_ship_stays_sound_for_twelve_hours(ship: Ship, changed: Change) -> None:
    state = changed(minutes=12 * H)
    assert codes(ship, state) == set()
    assert [state.quantities[bus]["LOAD"] for bus in ("EPS-BUS-A", "EPS-BUS-B")] == [1151, 680]
    assert state.quantities["EPS-FC-1"]["OUTPUT"] == 1831


@pytest.mark.parametrize(
    ("code", "not_yet", "by_then", "change"),
    [
        ("C-122", 222, 228, BED_SHUT),  # 40 % + 12 % an hour: above 85 % after 3 h 45 min
        ("W-103", 744, 756, {"off": ("ECS-O2-R1",)}),  # by .12 kPa/h: 1.5 kPa in twelve and a half hours
        ("W-101", 29, 31, {"settings": {"ECS-CPR-V1": {"MODE": "OPEN"}}}),
        ("C-114", 120, 124, {"settings": {"ECS-LOX-T1": {"HEATER": "OFF"}}}),
        ("C-601", 134, 137, STUCK),  # from 48 °C by 12 °C an hour: 75 °C after 2 h 15 min
        ("W-602", 137, 187, STUCK),  # 85 °C after 3 h 5 min: the computer stops
        ("C-108", 199, 202, {"off": ("ECS-HX-1",)}),
        ("C-134", 30, 52, {"faults": {"ECS-RAD-1": Fault("leak", rate=60)}}),
        ("C-401", 79, 82, {"settings": {"GNC-IMU-1": {"MODE": "STANDBY"}}}),
        ("C-501", 82, 250, {"settings": {"GNC-IMU-1": {"MODE": "STANDBY"}}}),
        ("W-123", 60, 10 * H, {"faults": {"ECS-FAN-1": Fault("worn")}}),
        ("W-202", 156, 159, {"settings": {"EPS-FC-1": {"MODE": "STANDBY"}}}),  # 5 kWh at 1,831 W, from 96 %
    ],
)
def test_alarms_sound_when_the_manual_says(
    ship: Ship, changed: Change, code: str, not_yet: float, by_then: float, change: dict[str, Any]
) -> None:
    assert code not in codes(ship, changed(minutes=not_yet, **change))
    assert code in codes(ship, changed(minutes=by_then, **change))


@pytest.mark.parametrize(
    ("gas", "minutes", "value", "change"),
    [
        ("PPCO2", 12 * H, 0.17, {}),  # .1 of breath over .6 of removal
        ("PPCO2", 12 * H, 0.50, {"people": 3}),
        ("PPCO2", 2 * H, 0.37, {"off": ("ECS-CO2-A",)}),  # by a tenth for each person and hour
        ("PPCO2", 2 * H, 0.77, {"off": ("EPS-INV-1",), "people": 3}),
        ("PPCO2", 98, 0.70, {"cabin": {"PPCO2": 1.60}}),  # .167 + 1.433 e^(-.6 t) = .70 at t = 1.65 h
        ("PPCO2", 12 * H, 0.20, LIOH),
        ("PPO2", 60, 19.5, {"cabin": {"PPO2": 18.0}}),
        ("PPO2", 61, 23.54, {"cabin": {"PPO2": 24.0}}),  # and 24 / 70 of the 1 kPa that is bled
        ("PPO2", 8 * H, 18.0, {"settings": {"ECS-O2-R1": {"SETPOINT": "18.0"}}}),
        ("PRESSURE", 10 * H, 69.8, {"off": ("ECS-LN2-T1",)}),
        ("PRESSURE", 60, 64.0, {"settings": {"ECS-CPR-V1": {"MODE": "OPEN"}}}),
        ("PRESSURE", 60, 73.38, {"cabin": {"PRESSURE": 73.4}, "settings": RELIEF_SHUT}),
        ("TEMP", 40, 22 + 6 / math.e, {"cabin": {"TEMP": 28.0}}),
        ("HUMIDITY", 60, 52, {"settings": {"ECS-HUM-1": {"MODE": "DRAIN"}}}),
    ],
)
def test_the_cabin(changed: Change, gas: str, minutes: float, value: float, change: dict[str, Any]) -> None:
    assert changed(minutes=minutes, **change).cabin[gas] == pytest.approx(value, abs=0.02)


BAKE = {"quantities": {"ECS-CO2-A": {"SATURATION": 90.0}}}
BAKE_OPEN = {"ECS-CO2-A": {"MODE": "BAKE", "VENT": "OPEN"}}
SAG = {"EPS-FC-1": Fault("impure", {"VOLTAGE": 25.8})}
SPENT = {"ECS-WPR-1": Fault("spent", key="FILTER", value="A")}
LGA = {"on": ("COM-LGA-1",)}


@pytest.mark.parametrize(
    ("part", "key", "minutes", "value", "change"),
    [
        ("ECS-CO2-L", "LIFE", 12 * H, 50, LIOH),
        ("ECS-CO2-A", "SATURATION", 5.1 * H, 100, BED_SHUT),
        ("ECS-CO2-A", "SATURATION", 90, 10, {**BAKE, "settings": BAKE_OPEN}),
        ("ECS-LN2-T2", "PRESSURE", 10 * H, 2300, {}),
        ("CMP-CPU-1", "TEMP", 60, 54, {**STUCK, "settings": {"CMP-CPU-1": {"MODE": "SAFE"}}}),
        ("ECS-CLV-1", "COOLANT_TEMP", 60, 21, {"settings": {"ECS-RAD-1": {"ISOLATION": "CLOSED"}}}),
        ("EPS-BAT-1", "CHARGE", 375, 90,
         {"quantities": {"EPS-BAT-1": {"CHARGE": 15.0}}, "settings": {"EPS-CHG-1": {"MODE": "FAST"}}}),
        ("EPS-FC-1", "VOLTAGE", 11, 28.4,
         {"faults": SAG, "settings": {"EPS-FC-1": {"MODE": "PURGE"}}}),
        ("GNC-IMU-1", "ATT_ERROR", 15, 0.1,
         {"quantities": {"GNC-IMU-1": {"ATT_ERROR": 2.0}}, "settings": {"GNC-IMU-1": {"MODE": "ALIGN"}}}),
        ("COM-SBT-1", "SIGNAL", 1, -131,
         {**LGA, "settings": {"COM-CTRL": {"ANTENNA": "COM-LGA-1"}, "COM-SBT-1": {"RATE": "HIGH"}}}),
        ("GNC-STR-1", "STARS", 60, 2, {"settings": {"ECS-WST-1": {"VENT": "OPEN"}}}),
        ("STO-FRZ-1", "TEMP", 60, -17, {"off": ("STO-FRZ-1",)}),
        ("GNC-RDR-1", "TUBE_TEMP", 60, 44, {"settings": {"GNC-RDR-1": {"MODE": "SEARCH"}}}),
        ("CMP-MEM-1", "ERRORS", 60, 11, {"settings": {"CMP-MEM-1": {"SCRUB": "OFF"}}}),
        ("ECS-WPR-1", "CONDUCTIVITY", 30, 85, {"faults": SPENT}),
        ("EPS-BUS-B", "LOAD", 1, 1691,
         {"settings": {c: {"BUS": "B"} for c in ("ECS-CTRL", "ATM-CTRL", "AIR-CTRL", "THM-CTRL", "WTR-CTRL",
          "PRP-CTRL", "STO-CTRL")}, "off": ("STO-FRZ-1",)}),
    ],
)  # fmt: skip
def test_a_part(
    changed: Change, part: str, key: str, minutes: float, value: float, change: dict[str, Any]
) -> None:
    assert changed(minutes=minutes, **change).quantities[part][key] == pytest.approx(value, abs=0.2)


def mass_of_gas(state: ShipState) -> float:
    """Oxygen and nitrogen of cabin and selected tanks, kg."""
    tanks = state.quantities["ECS-LOX-T1"]["QUANTITY"] * LOX_TANK_KG / 100
    tanks += state.quantities["ECS-LN2-T1"]["QUANTITY"] * LN2_TANK_KG / 100
    return tanks + state.cabin["PRESSURE"] * GAS_KG_PER_KPA


@pytest.mark.parametrize("start", [{}, {"PPO2": 18.5}, {"PRESSURE": 64.0}])
def test_gas_is_neither_made_nor_lost(changed: Change, start: dict[str, float]) -> None:
    """Breath takes .12 kPa/h, the leak .02 kPa/h, and the cell .37 kg/kWh."""
    before, hours = changed(cabin=start, settings=RELIEF_SHUT), 6
    after = changed(minutes=1 + hours * H, cabin=start, settings=RELIEF_SHUT)
    used = 1.831 * hours * 0.37 + (0.12 + 0.02) * hours * GAS_KG_PER_KPA
    assert mass_of_gas(before) - mass_of_gas(after) == pytest.approx(used, rel=1e-4)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    off=st.sets(st.sampled_from(["ECS-CO2-A", "ECS-LN2-T1", "ECS-HX-1", "ECS-FAN-1", "EPS-INV-1"])),
    mode=st.sampled_from(["CYCLE", "BAKE"]),
    speed=st.sampled_from(["LOW", "MED", "HIGH"]),
    setpoint=st.sampled_from(["17.0", "21.0", "24.0"]),
    minutes=st.integers(5, 240),
)
def test_coarse_and_fine_steps_agree(
    ship: Ship, off: set[str], mode: str, speed: str, setpoint: str, minutes: int
) -> None:
    state = sound_state(ship, minute=0)
    state.switches.update(dict.fromkeys(off, False))
    state.settings["ECS-FAN-1"]["SPEED"] = speed
    state.settings["ECS-O2-R1"]["SETPOINT"] = setpoint
    state.settings["ECS-CO2-A"]["MODE"] = mode
    fine, coarse = advance(ship, state, minutes, step=0.5), advance(ship, state, minutes, step=2.0)
    for key, value in fine.cabin.items():
        assert coarse.cabin[key] == pytest.approx(value, rel=0.01, abs=0.02), key
    for part, key in (("CMP-CPU-1", "TEMP"), ("EPS-BAT-1", "CHARGE"), ("ECS-CO2-A", "SATURATION")):
        assert coarse.quantities[part][key] == pytest.approx(fine.quantities[part][key], rel=0.01, abs=0.3)
