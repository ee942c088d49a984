"""The numbers that the manuals state, by hand arithmetic; conservation; and steps of any size."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mission.air import GAS_KG_PER_KPA, LN2_TANK_KG, LOX_TANK_KG
from mission.alarms import active_alarms
from mission.ship import Ship
from mission.state import Fault, ShipState, sound_state
from mission.status import Status, statuses
from tests.mission.conftest import Change, advance

H = 60


def codes(ship: Ship, state: ShipState) -> set[str]:
    return {alarm.code for alarm in active_alarms(ship, state)}


def test_a_sound_ship_stays_sound_for_twelve_hours(ship: Ship, changed: Change) -> None:
    state = changed(minutes=12 * H)
    assert codes(ship, state) == set()
    assert state.cabin["PRESSURE"] == pytest.approx(70.0)
    assert state.cabin["PPO2"] == pytest.approx(21.0)
    assert state.cabin["PPCO2"] == pytest.approx(0.1 / 0.6, abs=0.001)


def test_loads_are_those_of_the_manual(changed: Change) -> None:
    state = changed()
    assert state.quantities["EPS-BUS-A"]["LOAD"] == 1151
    assert state.quantities["EPS-BUS-B"]["LOAD"] == 680
    assert state.quantities["EPS-FC-1"]["OUTPUT"] == 1831


# ------------------------------------------------------------------------------------------- carbon dioxide


@pytest.mark.parametrize("people", [1, 3])
def test_co2_rises_by_a_tenth_for_each_person_and_hour(changed: Change, people: int) -> None:
    state = changed(minutes=2 * H, off=("ECS-CO2-A",), people=people)
    assert state.cabin["PPCO2"] == pytest.approx(0.17 + 0.2 * people, abs=0.001)  # a little leaks


@pytest.mark.parametrize(
    ("off", "own"),
    [
        (("ECS-CO2-A",), {}),
        ((), {"ECS-CO2-A": {"MODE": "STANDBY"}}),
        (("ECS-FAN-1",), {}),
        (("EPS-INV-1",), {}),
    ],
)
def test_co2_only_rises_while_nothing_removes_it(
    ship: Ship, changed: Change, off: tuple[str, ...], own: dict
) -> None:
    state, seen = changed(off=off, settings=own), []
    for _ in range(20):
        seen.append(state.cabin["PPCO2"])
        state = advance(ship, state, 10)
    assert all(earlier < later for earlier, later in pairwise(seen))


@pytest.mark.parametrize(("people", "settled"), [(1, 0.17), (3, 0.50)])
def test_a_bed_settles_where_the_manual_says(changed: Change, people: int, settled: float) -> None:
    assert changed(minutes=12 * H, people=people).cabin["PPCO2"] == pytest.approx(settled, abs=0.005)


def test_a_repaired_bed_needs_an_hour_and_forty_minutes(changed: Change) -> None:
    """0.167 + 1.433 e^(-0.6 t) = 0.70 at t = 1.65 h."""
    start = {"PPCO2": 1.60}
    assert changed(minutes=95, cabin=start).cabin["PPCO2"] > 0.70
    assert changed(minutes=101, cabin=start).cabin["PPCO2"] < 0.70


@pytest.mark.parametrize(("speed", "share"), [("LOW", 0.3), ("MED", 0.6), ("HIGH", 0.72)])
def test_the_fan_sets_the_pace_of_a_bed(changed: Change, speed: str, share: float) -> None:
    state = changed(minutes=60, cabin={"PPCO2": 1.0}, settings={"ECS-FAN-1": {"SPEED": speed}})
    settled = 0.1 / share
    assert state.cabin["PPCO2"] == pytest.approx(settled + (1 - settled) * math.exp(-share), abs=0.01)


def loaded(cartridge: str = "LOADED") -> dict[str, dict[str, str]]:
    return {"AIR-CTRL": {"CO2_BED": "ECS-CO2-L"}, "ECS-CO2-L": {"CARTRIDGE": cartridge}}


def test_a_cartridge_lasts_a_day_and_an_empty_one_removes_nothing(ship: Ship, changed: Change) -> None:
    half = changed(minutes=12 * H, on=("ECS-CO2-L",), settings=loaded())
    assert half.quantities["ECS-CO2-L"]["LIFE"] == pytest.approx(50)
    assert half.cabin["PPCO2"] == pytest.approx(0.20, abs=0.005)
    empty = changed(minutes=2 * H, on=("ECS-CO2-L",), settings=loaded("EMPTY"))
    assert empty.cabin["PPCO2"] == pytest.approx(0.37, abs=0.001)
    assert statuses(ship, empty)["AIR-CTRL"] == Status.NOMINAL


def test_a_closed_vent_saturates_the_bed(ship: Ship, changed: Change) -> None:
    """40 % + 12 % per hour: above 85 % after 3 h 45 min, full after 5 h."""
    shut = {"ECS-CO2-A": {"VENT": "CLOSED"}}
    assert "C-122" not in codes(ship, changed(minutes=3.7 * H, settings=shut))
    assert "C-122" in codes(ship, changed(minutes=3.8 * H, settings=shut))
    full = changed(minutes=5.1 * H, settings=shut)
    assert full.quantities["ECS-CO2-A"]["SATURATION"] == 100
    assert advance(ship, full, 60).cabin["PPCO2"] == pytest.approx(full.cabin["PPCO2"] + 0.1, abs=0.001)


@pytest.mark.parametrize(("vent", "left"), [("OPEN", 10), ("CLOSED", 90)])
def test_only_a_bake_with_an_open_vent_empties(changed: Change, vent: str, left: float) -> None:
    bake = {"ECS-CO2-A": {"MODE": "BAKE", "VENT": vent}}
    full = {"ECS-CO2-A": {"SATURATION": 90.0}}
    assert changed(minutes=89, settings=bake, quantities=full).setting("ECS-CO2-A", "MODE") == "BAKE"
    done = changed(minutes=90, settings=bake, quantities=full)
    assert done.setting("ECS-CO2-A", "MODE") == "CYCLE"
    assert done.quantities["ECS-CO2-A"]["SATURATION"] == left


def test_a_bake_that_is_broken_off_starts_anew(ship: Ship, changed: Change) -> None:
    state = changed(
        minutes=80, settings={"ECS-CO2-A": {"MODE": "BAKE"}}, quantities={"ECS-CO2-A": {"SATURATION": 90.0}}
    )
    state.settings["ECS-CO2-A"]["MODE"] = "CYCLE"
    state = advance(ship, state, 1)
    state.settings["ECS-CO2-A"]["MODE"] = "BAKE"
    assert advance(ship, state, 60).quantities["ECS-CO2-A"]["SATURATION"] == 90


# ------------------------------------------------------------------------------------------- pressures


def test_oxygen_without_supply_is_breathed_and_leaks(ship: Ship, changed: Change) -> None:
    """By 0.12 kPa/h, of which 0.02 * 21 / 49 leak: 1.5 kPa in twelve and a half hours."""
    assert "W-103" not in codes(ship, changed(minutes=12.4 * H, off=("ECS-O2-R1",)))
    assert "W-103" in codes(ship, changed(minutes=12.6 * H, off=("ECS-O2-R1",)))
    alone = changed(minutes=10 * H, off=("ECS-O2-R1", "ECS-LN2-T1"), people=0)
    assert alone.cabin["PPO2"] / alone.cabin["PRESSURE"] == pytest.approx(0.3)
    assert alone.cabin["PPO2"] < 20.92


def test_what_leaves_the_cabin_is_air(changed: Change) -> None:
    """An open valve without any supply keeps the mixture: a seventh of each gas in 100 minutes."""
    off, opened = ("ECS-O2-R1", "ECS-N2-R1", "ECS-CO2-A"), {"ECS-CPR-V1": {"MODE": "OPEN"}}
    before = {"PRESSURE": 70.0, "PPO2": 21.0, "PPCO2": 0.7}
    after = changed(minutes=100, off=off, settings=opened, cabin=before, people=0).cabin
    assert after["PRESSURE"] == pytest.approx(60.0)
    assert [after[gas] / before[gas] for gas in before] == pytest.approx([6 / 7] * 3)


@pytest.mark.parametrize("gas", ["PPO2", "PPCO2"])
def test_bleeding_takes_oxygen_and_carbon_dioxide_along(changed: Change, gas: str) -> None:
    start, off = {"PRESSURE": 73.4, "PPCO2": 0.7}, ("ECS-O2-R1", "ECS-CO2-A")
    shut = {"ECS-CPR-V1": {"MODE": "CLOSED"}}
    bled = changed(minutes=60, cabin=start, off=off, people=0).cabin
    kept = changed(minutes=60, cabin=start, off=off, settings=shut, people=0).cabin
    assert bled[gas] / kept[gas] == pytest.approx(1 - 1.0 / 73.4, abs=0.001)


def test_excess_oxygen_leaves_by_breath_leak_and_the_relief_valve(changed: Change) -> None:
    rich, shut = {"PPO2": 24.0}, {"ECS-CPR-V1": {"MODE": "CLOSED"}}
    bled, kept = changed(minutes=61, cabin=rich), changed(minutes=61, cabin=rich, settings=shut)
    assert kept.cabin["PPO2"] == pytest.approx(24 - 0.12, abs=0.01)
    assert bled.cabin["PPO2"] == pytest.approx(kept.cabin["PPO2"] - 24 / 70, abs=0.01)
    assert bled.quantities["ECS-CPR-V1"]["OPENING"] == 10
    assert bled.cabin["PRESSURE"] == pytest.approx(70)


def test_oxygen_comes_back_by_one_and_a_half_per_hour(changed: Change) -> None:
    assert changed(minutes=60, cabin={"PPO2": 18.0}).cabin["PPO2"] == pytest.approx(19.5)


def test_pressure_without_nitrogen_falls_by_the_leak(changed: Change) -> None:
    assert changed(minutes=10 * H, off=("ECS-LN2-T1",)).cabin["PRESSURE"] == pytest.approx(69.8)


def test_nitrogen_fills_the_gap_that_oxygen_leaves(changed: Change) -> None:
    """Oxygen is breathed, leaks, and is bled by 1.00 kPa of air per hour, of which 26 to 30 % are oxygen."""
    state = changed(minutes=8 * H, settings={"ECS-O2-R1": {"SETPOINT": "18.0"}})
    assert state.cabin["PRESSURE"] == pytest.approx(70.0)
    assert state.cabin["PPO2"] == pytest.approx(18.0)


def test_an_open_relief_valve_reaches_the_alarm_in_about_half_an_hour(ship: Ship, changed: Change) -> None:
    opened = {"ECS-CPR-V1": {"MODE": "OPEN"}}
    assert "W-101" not in codes(ship, changed(minutes=29, settings=opened))
    assert "W-101" in codes(ship, changed(minutes=31, settings=opened))
    assert changed(minutes=60, settings=opened).cabin["PRESSURE"] == pytest.approx(64.0)


def test_high_pressure_bleeds_only_through_the_valve_in_auto(changed: Change) -> None:
    assert changed(minutes=60, cabin={"PRESSURE": 73.4}).cabin["PRESSURE"] == pytest.approx(
        72.4 + 21 / 73.4, abs=0.03
    )  # the oxygen regulator puts back what the valve lets out
    closed = {"ECS-CPR-V1": {"MODE": "CLOSED"}}
    assert changed(minutes=60, cabin={"PRESSURE": 73.4}, settings=closed).cabin["PRESSURE"] == pytest.approx(
        73.38
    )


def test_a_cold_lox_tank_reaches_its_limit_after_two_hours(ship: Ship, changed: Change) -> None:
    cold = {"ECS-LOX-T1": {"HEATER": "OFF"}}
    assert "C-114" not in codes(ship, changed(minutes=120, settings=cold))
    assert "C-114" in codes(ship, changed(minutes=124, settings=cold))
    warmed = changed(
        minutes=60, settings={"ECS-LOX-T1": {"HEATER": "ON"}}, quantities={"ECS-LOX-T1": {"PRESSURE": 5800.0}}
    )
    assert warmed.quantities["ECS-LOX-T1"]["PRESSURE"] == pytest.approx(5800 + 307.5)


def test_a_resting_tank_keeps_its_pressure(changed: Change) -> None:
    assert changed(minutes=10 * H).quantities["ECS-LN2-T2"]["PRESSURE"] == 2300


def mass_of_gas(state: ShipState) -> float:
    """Oxygen and nitrogen of cabin and selected tanks, kg."""
    tanks = state.quantities["ECS-LOX-T1"]["QUANTITY"] * LOX_TANK_KG / 100
    tanks += state.quantities["ECS-LN2-T1"]["QUANTITY"] * LN2_TANK_KG / 100
    return tanks + state.cabin["PRESSURE"] * GAS_KG_PER_KPA


@pytest.mark.parametrize("start", [{}, {"PPO2": 18.5}, {"PRESSURE": 64.0}])
def test_gas_is_neither_made_nor_lost(changed: Change, start: dict[str, float]) -> None:
    """What leaves is breathed (0.12 kPa/h), leaks (0.02 kPa/h), and feeds the cell (0.37 kg/kWh)."""
    shut = {"ECS-CPR-V1": {"MODE": "CLOSED"}}  # or surplus air would leave through the relief valve
    before, hours = changed(cabin=start, settings=shut), 6
    after = changed(minutes=1 + hours * H, cabin=start, settings=shut)
    burnt = 1.831 * hours * 0.37
    left_cabin = (0.12 + 0.02) * hours * GAS_KG_PER_KPA
    assert mass_of_gas(before) - mass_of_gas(after) == pytest.approx(burnt + left_cabin, rel=1e-4)


# ------------------------------------------------------------------------------------------- heat and power


def test_without_coolant_the_computer_warns_then_stops(ship: Ship, changed: Change) -> None:
    """From 48 °C by 12 °C per hour: 75 °C after 2 h 15 min, 85 °C after 3 h 5 min."""
    stuck = {"ECS-CLP-1": Fault("stuck", {"FLOW": 0.0})}
    held = {"ECS-CLP-1": {"FLOW": 0.0}}
    assert "C-601" not in codes(ship, changed(minutes=134, faults=stuck, quantities=held))
    assert "C-601" in codes(ship, changed(minutes=137, faults=stuck, quantities=held))
    stopped = changed(minutes=187, faults=stuck, quantities=held)
    assert "W-602" in codes(ship, stopped)
    assert not stopped.switches["CMP-CPU-1"]
    safe = changed(minutes=60, faults=stuck, quantities=held, settings={"CMP-CPU-1": {"MODE": "SAFE"}})
    assert safe.quantities["CMP-CPU-1"]["TEMP"] == pytest.approx(54, abs=0.2)


def test_without_coolant_the_stack_shuts_down_after_three_hours_and_twelve_minutes(changed: Change) -> None:
    stuck, held = {"ECS-CLP-1": Fault("stuck", {"FLOW": 0.0})}, {"ECS-CLP-1": {"FLOW": 0.0}}
    assert changed(minutes=190, faults=stuck, quantities=held).switches["EPS-FC-1"]
    assert not changed(minutes=193, faults=stuck, quantities=held).switches["EPS-FC-1"]


def test_a_cabin_without_exchanger_reaches_the_caution_after_three_hours_twenty(
    ship: Ship, changed: Change
) -> None:
    assert "C-108" not in codes(ship, changed(minutes=199, off=("ECS-HX-1",)))
    assert "C-108" in codes(ship, changed(minutes=202, off=("ECS-HX-1",)))


def test_two_thirds_of_the_excess_are_gone_after_forty_minutes(changed: Change) -> None:
    state = changed(minutes=40, cabin={"TEMP": 28.0})
    assert state.cabin["TEMP"] == pytest.approx(22 + 6 / math.e, abs=0.05)


@pytest.mark.parametrize(
    "own", [{"ECS-RAD-1": {"ISOLATION": "CLOSED"}}, {"ECS-CLV-1": {"MODE": "MANUAL", "POSITION": "80"}}]
)
def test_coolant_without_a_sink_warms_by_nine_degrees(
    changed: Change, own: dict[str, dict[str, str]]
) -> None:
    assert changed(minutes=60, settings=own).quantities["ECS-CLV-1"]["COOLANT_TEMP"] == pytest.approx(21)


def test_the_evaporator_carries_the_heat_and_drinks(changed: Change) -> None:
    own = {"THM-CTRL": {"HEAT_SINK": "ECS-EVP-1"}, "ECS-EVP-1": {"MODE": "RUN"}}
    hot = {"ECS-CLV-1": {"COOLANT_TEMP": 30.0}}
    state = changed(minutes=125, on=("ECS-EVP-1",), settings=own, quantities=hot)
    assert state.quantities["ECS-EVP-1"]["FEED"] == 2.8
    assert state.quantities["ECS-CLV-1"]["COOLANT_TEMP"] < 14
    gained = (0.4 * 1.871 - 2.6 / 24) * 125 / 60 - 2.8 * 2
    assert state.quantities["ECS-WTK-1"]["QUANTITY"] == pytest.approx(72 + gained / 0.6, abs=0.3)


def test_a_punctured_panel_loses_coolant_until_it_is_closed(ship: Ship, changed: Change) -> None:
    leak = {"ECS-RAD-1": Fault("leak", rate=60)}
    assert changed(minutes=30, faults=leak).coolant_kpa == pytest.approx(180)
    assert "C-134" in codes(ship, changed(minutes=52, faults=leak))
    assert (
        changed(minutes=30, faults=leak, settings={"ECS-RAD-1": {"ISOLATION": "CLOSED"}}).coolant_kpa == 210
    )


def test_a_battery_carries_the_ship_for_two_hours_and_forty_minutes(ship: Ship, changed: Change) -> None:
    """5.0 kWh at 1,831 W are 2 h 44 min from full, 2 h 37 min from 96 %."""
    idle = {"EPS-FC-1": {"MODE": "STANDBY"}}
    assert statuses(ship, changed(minutes=156, settings=idle))["EPS-BUS-A"] != Status.OFFLINE
    assert statuses(ship, changed(minutes=159, settings=idle))["EPS-BUS-A"] == Status.OFFLINE


def test_overload_opens_the_breaker(ship: Ship, changed: Change) -> None:
    on_b = {c: {"BUS": "B"} for c in ship.controllers}
    tripped = changed(settings=on_b)
    assert tripped.setting("EPS-BUS-B", "BREAKER") == "OPEN"
    kept = changed(settings=on_b, off=("STO-FRZ-1",))
    assert kept.setting("EPS-BUS-B", "BREAKER") == "CLOSED"
    assert kept.quantities["EPS-BUS-B"]["LOAD"] == 1691


def test_a_charge_from_fifteen_to_ninety_takes_six_hours_and_a_quarter(changed: Change) -> None:
    low, fast = {"EPS-BAT-1": {"CHARGE": 15.0}}, {"EPS-CHG-1": {"MODE": "FAST"}}
    state = changed(minutes=375, quantities=low, settings=fast)
    assert state.quantities["EPS-BAT-1"]["CHARGE"] == pytest.approx(90)
    assert state.quantities["EPS-BUS-B"]["LOAD"] == 1280


def test_a_purge_restores_a_sagging_voltage(ship: Ship, changed: Change) -> None:
    sag = {"EPS-FC-1": Fault("impure", {"VOLTAGE": 25.8})}
    assert "C-205" in codes(ship, changed(faults=sag))
    purged = changed(minutes=11, faults=sag, settings={"EPS-FC-1": {"MODE": "PURGE"}})
    assert purged.quantities["EPS-FC-1"]["VOLTAGE"] == 28.4
    assert purged.setting("EPS-FC-1", "MODE") == "RUN"


# ------------------------------------------------------------------------------------------- the rest


def test_an_unaligned_unit_loses_the_antenna(ship: Ship, changed: Change) -> None:
    idle = {"GNC-IMU-1": {"MODE": "STANDBY"}}
    assert "C-401" not in codes(ship, changed(minutes=79, settings=idle))
    assert "C-401" in codes(ship, changed(minutes=82, settings=idle))
    assert "C-501" in codes(ship, changed(minutes=250, settings=idle))


def test_alignment_takes_a_quarter_of_an_hour(changed: Change) -> None:
    state = changed(
        minutes=15, settings={"GNC-IMU-1": {"MODE": "ALIGN"}}, quantities={"GNC-IMU-1": {"ATT_ERROR": 2.0}}
    )
    assert state.quantities["GNC-IMU-1"]["ATT_ERROR"] == 0.1
    assert state.setting("GNC-IMU-1", "MODE") == "OPERATE"


@pytest.mark.parametrize(("rate", "signal"), [("HIGH", -131), ("LOW", -121)])
def test_the_low_gain_antenna_needs_the_low_rate(changed: Change, rate: str, signal: float) -> None:
    own = {"COM-CTRL": {"ANTENNA": "COM-LGA-1"}, "COM-SBT-1": {"RATE": rate}}
    assert changed(on=("COM-LGA-1",), settings=own).quantities["COM-SBT-1"]["SIGNAL"] == signal


def test_a_lost_carrier_hides_that_the_key_is_wrong(ship: Ship, changed: Change) -> None:
    own = {"COM-SBT-1": {"KEY": "MESA-31"}, "COM-HGA-1": {"POINTING": "MANUAL", "AZIMUTH": "200"}}
    assert codes(ship, changed(settings=own)) >= {"C-501", "C-503"}
    assert "C-502" not in codes(ship, changed(settings=own))
    own["COM-HGA-1"]["AZIMUTH"] = "118"
    assert "C-502" in codes(ship, changed(settings=own))


def test_waste_vent_and_stars(changed: Change) -> None:
    state = changed(minutes=60, settings={"ECS-WST-1": {"VENT": "OPEN"}})
    assert state.quantities["ECS-WST-1"]["QUANTITY"] == pytest.approx(5)
    assert state.quantities["GNC-STR-1"]["STARS"] == 2


def test_small_rates_of_the_manuals(changed: Change) -> None:
    assert changed(minutes=60, off=("STO-FRZ-1",)).quantities["STO-FRZ-1"]["TEMP"] == pytest.approx(-17)
    searching = changed(minutes=60, settings={"GNC-RDR-1": {"MODE": "SEARCH"}})
    assert searching.quantities["GNC-RDR-1"]["TUBE_TEMP"] == pytest.approx(44)
    unscrubbed = changed(minutes=60, settings={"CMP-MEM-1": {"SCRUB": "OFF"}})
    assert unscrubbed.quantities["CMP-MEM-1"]["ERRORS"] == pytest.approx(11)
    drained = changed(minutes=60, settings={"ECS-HUM-1": {"MODE": "DRAIN"}})
    assert drained.cabin["HUMIDITY"] == pytest.approx(52)
    spent = {"ECS-WPR-1": Fault("spent", key="FILTER", value="A")}
    assert changed(minutes=30, faults=spent).quantities["ECS-WPR-1"]["CONDUCTIVITY"] > 50
    other = changed(minutes=30, faults=spent, settings={"ECS-WPR-1": {"FILTER": "B"}})
    assert other.quantities["ECS-WPR-1"]["CONDUCTIVITY"] == 12


def test_a_worn_bearing_smokes_in_the_end(ship: Ship, changed: Change) -> None:
    worn = {"ECS-FAN-1": Fault("worn")}
    assert "W-123" in codes(ship, changed(minutes=10 * H, faults=worn))
    assert changed(minutes=60, faults=worn).quantities["ECS-FAN-1"]["FLOW"] == 5.0


# ------------------------------------------------------------------------------------------- steps

SITUATIONS = st.fixed_dictionaries(
    {
        "off": st.sets(
            st.sampled_from(["ECS-CO2-A", "ECS-LN2-T1", "ECS-HX-1", "ECS-FAN-1", "EPS-INV-1", "GNC-IMU-1"])
        ),
        "closed": st.booleans(),
        "bake": st.booleans(),
        "speed": st.sampled_from(["LOW", "MED", "HIGH"]),
        "setpoint": st.sampled_from(["17.0", "21.0", "24.0"]),
        "people": st.sampled_from([1, 3]),
    }
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(situation=SITUATIONS, minutes=st.integers(5, 240))
def test_coarse_and_fine_steps_agree(ship: Ship, situation: dict, minutes: int) -> None:
    state = sound_state(ship, minute=0)
    state.people = situation["people"]
    state.switches.update(dict.fromkeys(situation["off"], False))
    state.settings["ECS-FAN-1"]["SPEED"] = situation["speed"]
    state.settings["ECS-O2-R1"]["SETPOINT"] = situation["setpoint"]
    state.settings["ECS-CO2-A"]["VENT"] = "CLOSED" if situation["closed"] else "OPEN"
    state.settings["ECS-CO2-A"]["MODE"] = "BAKE" if situation["bake"] else "CYCLE"
    fine, coarse = advance(ship, state, minutes, step=0.5), advance(ship, state, minutes, step=2.0)
    for key, value in fine.cabin.items():
        assert coarse.cabin[key] == pytest.approx(value, rel=0.01, abs=0.02), key
    for part, key in (("CMP-CPU-1", "TEMP"), ("EPS-BAT-1", "CHARGE"), ("ECS-CO2-A", "SATURATION")):
        assert coarse.quantities[part][key] == pytest.approx(fine.quantities[part][key], rel=0.01, abs=0.3)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.integers(1, 60), second=st.integers(1, 60))
def test_two_waits_are_one(ship: Ship, first: int, second: int) -> None:
    state = sound_state(ship, minute=0)
    state.switches["ECS-CO2-A"] = False
    apart, together = advance(ship, advance(ship, state, first), second), advance(ship, state, first + second)
    assert apart == together
