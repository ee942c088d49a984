"""The three rules by which trouble travels, as `vehicle-overview.md` states them."""

from __future__ import annotations

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


def test_offline_arrives_as_malfunc_at_what_depends_on_it(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(off=("ECS-LN2-T1",)))
    assert found["ECS-LN2-T1"] == O
    assert found["ECS-N2-R1"] == M
    assert found["ATM-CTRL"] == found["ECS-CTRL"] == M
    assert found["AIR-CTRL"] == N


def test_malfunc_does_not_pass_between_parts(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(settings={"ECS-FAN-1": {"SPEED": "LOW"}}))
    assert found["ECS-FAN-1"] == M
    assert found["ECS-CO2-A"] == N
    assert found["AIR-CTRL"] == found["ECS-CTRL"] == M


def test_backups_that_are_not_selected_have_no_influence(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(on=("ECS-FAN-2",), settings={"ECS-FAN-2": {"SPEED": "LOW"}}))
    assert found["ECS-FAN-2"] == M
    assert found["AIR-CTRL"] == N


def test_an_inverter_takes_three_motors_in_three_systems(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(off=("EPS-INV-1",)))
    assert {found[i] for i in ("ECS-FAN-1", "ECS-CLP-1", "ECS-WTP-1")} == {M}
    assert {found[i] for i in ("AIR-CTRL", "THM-CTRL", "WTR-CTRL", "EPS-CTRL")} == {M}


def test_a_dead_bus_takes_all_that_its_controllers_feed(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(settings={"EPS-BUS-A": {"BREAKER": "OPEN"}}))
    on_a = ("ECS-CTRL", "ATM-CTRL", "AIR-CTRL", "THM-CTRL", "WTR-CTRL", "PRP-CTRL", "STO-CTRL")
    assert {found[c] for c in on_a} == {O}
    assert found["ECS-FAN-1"] == found["STO-FRZ-1"] == O
    assert found["CMP-CPU-1"] == M  # no coolant
    assert found["GNC-CTRL"] == N
    assert found["EPS-CTRL"] == M


def test_a_controller_moved_to_the_other_bus_runs_there(ship: Ship, changed: Change) -> None:
    settings = {"EPS-BUS-A": {"BREAKER": "OPEN"}, "ATM-CTRL": {"BUS": "B"}}
    found = statuses(ship, changed(minutes=5, settings=settings))
    assert found["ATM-CTRL"] == N
    assert found["AIR-CTRL"] == O


def test_parts_of_an_offline_controller_go_on(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(off=("AIR-CTRL",)))
    assert found["AIR-CTRL"] == O
    assert found["ECS-FAN-1"] == N
    assert found["ECS-CTRL"] == M


def test_a_cabin_quantity_blames_the_watching_controller_not_the_sensor(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(cabin={"PPCO2": 1.2}))
    assert found["ECS-CAB-S1"] == N
    assert found["AIR-CTRL"] == M
    assert found["ATM-CTRL"] == N


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


def test_a_warm_up_is_malfunc_and_ends(ship: Ship, changed: Change) -> None:
    assert self_test(ship, changed(on=("ECS-CO2-B",)), "ECS-CO2-B") == [
        "F-71 WARMING UP: 29 minutes are left."
    ]
    assert statuses(ship, changed(minutes=29, on=("ECS-CO2-B",)))["ECS-CO2-B"] == M
    assert statuses(ship, changed(minutes=31, on=("ECS-CO2-B",)))["ECS-CO2-B"] == N


def test_self_tests_name_the_nearest_reason(ship: Ship, changed: Change) -> None:
    off = changed(off=("ECS-LN2-T1",))
    assert self_test(ship, off, "ECS-LN2-T1")[0].startswith("F-11")
    assert self_test(ship, off, "ECS-N2-R1") == ["F-21 INPUT LOST: ECS-LN2-T1 is OFFLINE."]
    slow = changed(settings={"ECS-FAN-1": {"SPEED": "LOW"}})
    assert self_test(ship, slow, "ECS-FAN-1") == ["F-31 SETTING: SPEED is LOW."]
    shut = changed(minutes=3, settings={"ECS-LN2-T1": {"VALVE": "CLOSED"}})
    assert self_test(ship, shut, "ECS-N2-R1")[0].startswith("F-32 OUT OF LIMITS: OUTLET is 0 kPa")
    assert statuses(ship, shut)["ECS-LN2-T1"] == N
    assert self_test(ship, changed(), "ECS-CO2-A") == ["F-00 PASS."]
    assert self_test(ship, changed(settings={"EPS-BUS-A": {"BREAKER": "OPEN"}}), "ECS-FAN-1")[0].startswith(
        "F-11"
    )


def test_the_self_test_of_a_controller_names_all_reasons(ship: Ship, changed: Change) -> None:
    state = changed(off=("ECS-HUM-1",), cabin={"PPCO2": 1.5})
    answers = self_test(ship, state, "AIR-CTRL")
    assert answers[0] == "F-21 INPUT LOST: ECS-HUM-1 is OFFLINE."
    assert answers[1].startswith("F-32 OUT OF LIMITS: cabin PPCO2")
    assert self_test(ship, changed(), "AIR-CTRL") == ["F-00 PASS."]
    assert self_test(ship, changed(off=("AIR-CTRL",)), "AIR-CTRL")[0].startswith("F-11")


def test_without_any_source_both_buses_die(ship: Ship, changed: Change) -> None:
    found = statuses(ship, changed(off=("EPS-FC-1", "EPS-BAT-1")))
    assert found["EPS-BUS-A"] == found["EPS-BUS-B"] == O
    assert found["CMP-CPU-1"] == O
