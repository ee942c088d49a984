"""The other systems in a time step: water, guidance, radio, propulsion, memory, storage."""

from __future__ import annotations

from mission.power import add_water
from mission.status import tank_gives
from mission.step import TimeStep

STARS_IN_ICE, ICE_MIN = 2.0, 30.0
WASTE_FILL, WASTE_FILL_WITHOUT_PROCESSOR, WASTE_VENT, WASTE_LEFT = 0.3, 1.0, 30.0, 5.0  # % per hour; %
SPENT_COLUMN, DAMAGED_PATH = 85.0, 60.0
WORN_DRIFT = 0.3
POINTING_OFFSET = 0.2  # degrees of pointing error in addition to the attitude error
RIGHT_AZIMUTH = 118.0
NO_SIGNAL, POOR_SIGNAL = -140.0, -128.0
HOLD_H = 2.0  # hours for which the antenna stays on target without thrusters
WARMEST_FREEZER = 22.0


def water(s: TimeStep) -> None:
    """Update the water pumps, the water's quality, the waste and the crew's use."""
    for pump in s.parts("ECS-WTP-"):
        runs = s.runs(pump) and tank_gives(s.state, s.chosen("WTR-CTRL.WATER_TANK"), s.dark)
        s.put(pump, "FLOW", s.nominal(pump, "FLOW") if runs else 0.0)
    add_water(s, -s.constant("crew_water") / 24 * s.state.people * s.hours)
    s.move("ECS-WPR-1", "CONDUCTIVITY", SPENT_COLUMN if _spent(s, "ECS-WPR-1") else 12.0, 150.0)
    venting = s.on("ECS-WST-1") and s.setting("ECS-WST-1", "VENT") == "OPEN"
    if venting:
        s.move("ECS-WST-1", "QUANTITY", WASTE_LEFT, WASTE_VENT)
    else:
        rate = WASTE_FILL if s.on("ECS-WPR-1") else WASTE_FILL_WITHOUT_PROCESSOR
        s.move("ECS-WST-1", "QUANTITY", 100.0, rate)
    s.state.ice_min = ICE_MIN if venting else max(0.0, s.state.ice_min - s.hours * 60)


def _spent(s: TimeStep, part: str) -> bool:
    """Whether a part has the fault `spent`, at the setting that it has now."""
    fault = s.state.faults.get(part)
    return fault is not None and fault.kind == "spent" and s.setting(part, fault.key) == fault.value


def guidance(s: TimeStep) -> None:
    """Update the attitude errors, the star count and the radar's tube temperature."""
    for unit in s.parts("GNC-IMU-"):
        works = s.on(unit) and not s.state.warmups.get(unit) and s.setting(unit, "MODE") != "STANDBY"
        drift = WORN_DRIFT if s.state.fault(unit) == "worn" else s.nominal(unit, "DRIFT")
        s.put(unit, "DRIFT", drift)
        if s.on(unit) or unit == s.chosen("GNC-CTRL.IMU"):
            rate = drift if works else s.constant("imu_drift")
            s.put(unit, "ATT_ERROR", s.get(unit, "ATT_ERROR") + rate * s.hours)
    shut = s.setting("GNC-STR-1", "SHUTTER") == "CLOSED"
    stars = 0.0 if shut else STARS_IN_ICE if s.state.ice_min > 0 else s.nominal("GNC-STR-1", "STARS")
    s.put("GNC-STR-1", "STARS", stars)
    searching = s.on("GNC-RDR-1") and s.setting("GNC-RDR-1", "MODE") == "SEARCH"
    s.move("GNC-RDR-1", "TUBE_TEMP", 120.0 if searching else 24.0, 20.0)


def radio(s: TimeStep) -> None:
    """Update the antenna's pointing error, and the signal and lock of the transponders."""
    ring = s.chosen("PRP-CTRL.RCS_RING")
    held = s.on(ring) and s.setting(ring, "MODE") == "AUTO"
    s.state.tumbling_h = 0.0 if held else s.state.tumbling_h + s.hours
    s.put("COM-HGA-1", "ERROR", _pointing_error(s))
    for transponder in s.parts("COM-SBT-"):
        signal = _signal(s, transponder)
        s.put(transponder, "SIGNAL", signal)
        if s.on(transponder) and s.ship.parts[transponder].telemetry["SIGNAL"].within(signal):
            shut_out = s.state.shut_out_until.get(transponder, 0.0) > s.state.minute
            right = s.setting(transponder, "KEY") == s.ship.radio_keys[transponder]
            s.put(transponder, "LOCK", float(right and not shut_out))


def _pointing_error(s: TimeStep) -> float:
    if s.setting("COM-HGA-1", "POINTING") == "MANUAL":
        off = abs(float(s.setting("COM-HGA-1", "AZIMUTH")) - RIGHT_AZIMUTH)
        error = max(s.nominal("COM-HGA-1", "ERROR"), min(off, 360 - off))
    else:
        error = POINTING_OFFSET + s.get(s.chosen("GNC-CTRL.IMU"), "ATT_ERROR")
    return error + max(0.0, s.state.tumbling_h - HOLD_H)


def _signal(s: TimeStep, transponder: str) -> float:
    antenna = s.chosen("COM-CTRL.ANTENNA")
    if not s.on(antenna):
        return NO_SIGNAL
    if antenna == "COM-LGA-1":
        return -131.0 if s.setting(transponder, "RATE") == "HIGH" else -121.0
    error = s.get(antenna, "ERROR")
    return -112.0 - max(0.0, error - 0.3) * 10 if error <= 1.5 else POOR_SIGNAL


def propulsion(s: TimeStep) -> None:
    """Update propellant, tank pressures and valve temperatures."""
    ring = s.chosen("PRP-CTRL.RCS_RING")
    turning = s.on(ring) and s.setting(ring, "MODE") == "AUTO"
    for tank in ("PRP-FUT-1", "PRP-OXT-1"):
        warm = s.on(tank) and s.setting(tank, "HEATER") != "OFF"
        s.move(tank, "PRESSURE", s.nominal(tank, "PRESSURE") if warm else 1000.0, 20.0)
        s.put(tank, "QUANTITY", s.get(tank, "QUANTITY") - 0.1 / 24 * s.hours * turning)
    for thrusters in s.parts("PRP-RCS-"):
        if s.on(thrusters) or thrusters == ring:
            s.move(thrusters, "VALVE_TEMP", 30.0 if s.on(thrusters) else -10.0, 5.0)


def memory(s: TimeStep) -> None:
    """Update the bit errors of the mass memory and the network's latency."""
    scrubs = s.setting("CMP-MEM-1", "SCRUB") == "ON"
    s.move("CMP-MEM-1", "ERRORS", 1.0 if scrubs else 500.0, 120.0 if scrubs else 10.0)
    normal = {"A": 4.0, "B": 9.0}[s.setting("CMP-NET-1", "PATH")]
    s.put("CMP-NET-1", "LATENCY", DAMAGED_PATH if _spent(s, "CMP-NET-1") else normal)


def storage(s: TimeStep) -> None:
    """Update the freezer's temperature."""
    if s.on("STO-FRZ-1"):
        s.move("STO-FRZ-1", "TEMP", float(s.setting("STO-FRZ-1", "SETPOINT")), 4.0)
    else:
        s.move("STO-FRZ-1", "TEMP", WARMEST_FREEZER, s.constant("freezer_warming"))
