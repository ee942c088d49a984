"""The three rules by which trouble travels, as `vehicle-overview.md` states them."""

from __future__ import annotations

from typing import Any

import pytest

from mission.commands import self_test
from mission.ship import Ship
from mission.state import Fault
from mission.status import Status, statuses
from tests.mission.conftest import Change

N, M, O = Status.NOMINAL, Status.MALFUNC, Status.OFFLINE  # noqa: E741


def test_a_sound_ship_is_nominal_with_its_backups_at_rest(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed())
    primaries = {p.id for p in ship.parts.values() if p.role == "primary"}
    assert {found[i] for i in primaries | ship.controllers.keys()} == {N}
    resting = {p.id for p in ship.parts.values() if found[p.id] == O}
    assert resting == {p.id for p in ship.parts.values() if p.role == "backup"} - {"ECS-CAB-S2", "EPS-BUS-B"}


ON_A = ("ECS-CTRL", "ATM-CTRL", "AIR-CTRL", "THM-CTRL", "WTR-CTRL", "PRP-CTRL", "STO-CTRL")
INVERTED = ("ECS-FAN-1", "ECS-CLP-1", "ECS-WTP-1", "AIR-CTRL", "THM-CTRL", "WTR-CTRL", "EPS-CTRL")
A_OPEN = {"EPS-BUS-A": {"BREAKER": "OPEN"}}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # OFFLINE arrives as MALFUNC at what depends on it, up to the system's controller.
        ({"off": ("ECS-LN2-T1",)},
         {"ECS-LN2-T1": O, "ECS-N2-R1": M, "ATM-CTRL": M, "ECS-CTRL": M, "AIR-CTRL": N}),
        # MALFUNC does not pass between parts.
        ({"settings": {"ECS-FAN-1": {"SPEED": "LOW"}}},
         {"ECS-FAN-1": M, "ECS-CO2-A": N, "AIR-CTRL": M, "ECS-CTRL": M}),
        # Backups that are not selected have no influence.
        ({"on": ("ECS-FAN-2",), "settings": {"ECS-FAN-2": {"SPEED": "LOW"}}},
         {"ECS-FAN-2": M, "AIR-CTRL": N}),
        # An inverter takes three motors in three systems; a bus takes what its controllers feed.
        ({"off": ("EPS-INV-1",)}, dict.fromkeys(INVERTED, M)),
        ({"settings": A_OPEN},
         dict.fromkeys((*ON_A, "ECS-FAN-1"), O) | {"CMP-CPU-1": M, "GNC-CTRL": N, "EPS-CTRL": M}),
        ({"minutes": 5, "settings": A_OPEN | {"ATM-CTRL": {"BUS": "B"}}}, {"ATM-CTRL": N, "AIR-CTRL": O}),
        # Parts of an offline controller go on.
        ({"off": ("AIR-CTRL",)}, {"AIR-CTRL": O, "ECS-FAN-1": N, "ECS-CTRL": M}),
        # A cabin quantity blames the controller that watches it, not the sensor.
        ({"cabin": {"PPCO2": 1.2}}, {"ECS-CAB-S1": N, "AIR-CTRL": M, "ATM-CTRL": N}),
        ({"off": ("EPS-FC-1", "EPS-BAT-1")}, {"EPS-BUS-A": O, "EPS-BUS-B": O, "CMP-CPU-1": O}),
        ({"minutes": 29, "on": ("ECS-CO2-B",)}, {"ECS-CO2-B": M}),  # it warms up
        ({"minutes": 31, "on": ("ECS-CO2-B",)}, {"ECS-CO2-B": N}),
    ],
)  # fmt: skip
def test_how_trouble_travels(
    ship: Ship, changed: Change, change: dict[str, Any], expected: dict[str, Status]
) -> None:
    found = statuses(ship, changed(**change))
    assert {part: found[part] for part in expected} == expected


def test_a_drifting_sensor_hides_until_its_twin_is_selected(ship: Ship, changed: Change) -> None:
    drift = {"ECS-CAB-S1": Fault("drift", {"PPCO2": 0.17})}
    hidden = changed(cabin={"PPCO2": 1.2}, faults=drift)
    assert statuses(ship, hidden)["AIR-CTRL"] == N
    assert "F-61" in self_test(ship, hidden, "ECS-CAB-S1")[0]
    assert "F-00" in self_test(ship, hidden, "ECS-CAB-S2")[0]
    settings = {"ECS-CTRL": {"CABIN_SENSOR": "ECS-CAB-S2"}}
    assert statuses(ship, changed(cabin={"PPCO2": 1.2}, faults=drift, settings=settings))["AIR-CTRL"] == M
    alone = changed(cabin={"PPCO2": 1.2}, faults=drift, off=("ECS-CAB-S2",))
    assert "F-00" in self_test(ship, alone, "ECS-CAB-S1")[0]


def test_dead_stuck_and_worn(ship: Ship, changed: Change) -> None:
    for kind, status, code in (("dead", O, "F-12"), ("stuck", M, "F-51"), ("worn", M, "F-41")):
        state = changed(faults={"ECS-CLP-1": Fault(kind)})
        assert statuses(ship, state)["ECS-CLP-1"] == status
        assert self_test(ship, state, "ECS-CLP-1")[0].startswith(code)


def test_self_tests_name_the_nearest_reason(ship: Ship, changed: Change) -> None:
    off = changed(off=("ECS-LN2-T1",))
    assert self_test(ship, off, "ECS-LN2-T1")[0].startswith("F-11")
    assert self_test(ship, off, "ECS-N2-R1")[0].startswith("F-21 INPUT LOST")
    slow = changed(settings={"ECS-FAN-1": {"SPEED": "LOW"}})
    assert self_test(ship, slow, "ECS-FAN-1") == ["F-31 SETTING: SPEED is LOW."]
    shut = changed(minutes=3, settings={"ECS-LN2-T1": {"VALVE": "CLOSED"}})
    assert self_test(ship, shut, "ECS-N2-R1")[0].startswith("F-32 OUT OF LIMITS: OUTLET is 0 kPa")
    assert statuses(ship, shut)["ECS-LN2-T1"] == N
    assert self_test(ship, changed(), "ECS-CO2-A") == ["F-00 PASS."]
    warming = self_test(ship, changed(on=("ECS-CO2-B",)), "ECS-CO2-B")
    assert "F-71" in warming[0] and "29 minutes" in warming[0]


def test_the_self_test_of_a_controller_names_all_reasons(ship: Ship, changed: Change) -> None:
    state = changed(off=("ECS-HUM-1",), cabin={"PPCO2": 1.5})
    answers = self_test(ship, state, "AIR-CTRL")
    assert answers[0] == "F-21 INPUT LOST: ECS-HUM-1 is OFFLINE."
    assert answers[1].startswith("F-32 OUT OF LIMITS: cabin PPCO2")
    assert self_test(ship, changed(), "AIR-CTRL") == ["F-00 PASS."]
    assert self_test(ship, changed(off=("AIR-CTRL",)), "AIR-CTRL")[0].startswith("F-11")
