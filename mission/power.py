"""Electrical power: buses and breakers, fuel cells with their gases and water, batteries, cryogenic tanks."""

from __future__ import annotations

from mission.parts import BUSES, Part
from mission.status import cell_gives
from mission.step import TimeStep, toward

HEATER_OFF_SHARE = 0.25  # of a tank's power with HEATER OFF: it saves 30 of 40 W
HYDROGEN_KG_PER_KWH, OXYGEN_KG_PER_KWH = 0.047, 0.37
HYDROGEN_TANK_KG, OXYGEN_TANK_KG = 7.5, 58.0
IDLE_CELL_W = 300.0  # output of a fuel cell that runs and is not selected
EMPTY_BATTERY_V, FULL_BATTERY_RISE_V = 25.0, 2.9


def supply(s: TimeStep) -> None:
    """Update the buses, their breakers, the fuel cells, the batteries and the inverters."""
    for bus in BUSES.values():
        if s.on(bus) and load_of(s, bus) > s.constant("bus_capacity"):
            s.state.settings[bus]["BREAKER"] = "OPEN"
            s.again()
    loads = {bus: load_of(s, bus) if s.on(bus) else 0.0 for bus in BUSES.values()}
    load = sum(loads.values())
    output = _fuel_cells(s, load)
    _batteries(s, load - output)
    for bus, own in loads.items():
        s.put(bus, "LOAD", own)
        voltage = 28.0 if load <= output else s.get(s.chosen("EPS-CTRL.BATTERY"), "VOLTAGE")
        s.put(bus, "VOLTAGE", voltage if s.on(bus) else 0.0)
    for inverter in s.parts("EPS-INV-"):
        for key in ("VOLTAGE", "FREQUENCY"):
            s.put(inverter, key, s.nominal(inverter, key) if s.on(inverter) else 0.0)


def load_of(s: TimeStep, bus: str) -> float:
    """Return the load of a bus, in watts."""
    on_it = {c for c in s.ship.controllers if BUSES[s.setting(c, "BUS")] == bus}
    own = sum(s.ship.controllers[c].power_w for c in on_it if s.on(c))
    parts = (part for part, controller in s.ship.fed.items() if controller in on_it and s.on(part))
    return own + sum(_watts(s, s.ship.parts[part]) for part in parts)


def _watts(s: TimeStep, part: Part) -> float:
    if part.kind == "tank" and "HEATER" in part.settings and s.setting(part.id, "HEATER") == "OFF":
        return part.power_w * HEATER_OFF_SHARE
    return part.power_w + (s.constant("charger_fast") if part.kind == "charger" and _charging(s) else 0.0)


def _charging(s: TimeStep) -> bool:
    battery = s.chosen("EPS-CTRL.BATTERY")
    wanted = s.on("EPS-CHG-1") and s.setting("EPS-CHG-1", "MODE") == "FAST"
    return wanted and s.on(battery) and s.get(battery, "CHARGE") < 100


def _fuel_cells(s: TimeStep, load: float) -> float:
    """Update the telemetry of every fuel cell, and return the selected one's output in watts."""
    chosen = s.chosen("FCS-CTRL.FUEL_CELL")
    gives = cell_gives(s.state, s.dark)
    output = min(load, s.constant("fuel_cell_capacity")) if gives else 0.0
    for cell in s.parts("EPS-FC-"):
        runs = gives if cell == chosen else s.runs(cell)
        s.put(cell, "OUTPUT", output if cell == chosen else IDLE_CELL_W * runs)
        s.put(cell, "VOLTAGE", s.nominal(cell, "VOLTAGE") * runs)
    _use_up(s, output / 1000 * s.hours)
    return output


def _use_up(s: TimeStep, kwh: float) -> None:
    """Take the hydrogen and oxygen for `kwh` of energy from the selected tanks; add the water produced."""
    for slot, use in (
        ("H2_TANK", HYDROGEN_KG_PER_KWH / HYDROGEN_TANK_KG),
        ("O2_TANK", OXYGEN_KG_PER_KWH / OXYGEN_TANK_KG),
    ):
        tank = s.chosen(f"FCS-CTRL.{slot}")
        s.put(tank, "QUANTITY", max(0.0, s.get(tank, "QUANTITY") - 100 * use * kwh))
    add_water(s, s.constant("fuel_cell_water") * kwh)


def add_water(s: TimeStep, litres: float) -> None:
    """Add litres (negative: take them out) to the selected 60-litre tank, which stays at 0 to 100 %."""
    tank = s.chosen("WTR-CTRL.WATER_TANK")
    s.put(tank, "QUANTITY", max(0.0, min(100.0, s.get(tank, "QUANTITY") + litres / 0.6)))


def _batteries(s: TimeStep, missing_w: float) -> None:
    chosen = s.chosen("EPS-CTRL.BATTERY")
    gain_w = (s.constant("charger_fast") if _charging(s) else 0.0) - missing_w
    if s.on(chosen):
        gain = gain_w * s.hours / (s.constant("battery_capacity") * 1000) * 100
        s.put(chosen, "CHARGE", max(0.0, min(100.0, s.get(chosen, "CHARGE") + gain)))
    for battery in s.parts("EPS-BAT-"):
        s.put(battery, "VOLTAGE", EMPTY_BATTERY_V + FULL_BATTERY_RISE_V * s.get(battery, "CHARGE") / 100)
    currents = {"FLOAT": 0.5, "FAST": s.constant("charger_fast") / 28, "OFF": 0.0}
    s.put("EPS-CHG-1", "CURRENT", currents[s.setting("EPS-CHG-1", "MODE")])


def cryogenic_tanks(s: TimeStep) -> None:
    """Update tank pressures: HEATER ON raises them, AUTO holds them, OFF lets a selected tank's fall."""
    for tank in s.parts("ECS-LOX", "ECS-LN2", "EPS-H2"):
        nominal, pressure = s.nominal(tank, "PRESSURE"), s.get(tank, "PRESSURE")
        fall = nominal * s.constant("cryo_pressure_fall") / 100 * s.hours
        rise = nominal * s.constant("cryo_pressure_rise") / 100 * s.hours
        mode = s.setting(tank, "HEATER") if s.on(tank) else "OFF"
        if mode == "ON":
            s.put(tank, "PRESSURE", pressure + rise)
        elif mode == "AUTO":
            s.put(tank, "PRESSURE", toward(pressure, nominal, rise if pressure < nominal else fall))
        elif s.selected(tank):
            s.put(tank, "PRESSURE", max(0.0, pressure - fall))
