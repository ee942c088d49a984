"""Statuses of parts, controllers and systems: how OFFLINE and MALFUNC spread upwards.

OFFLINE gives MALFUNC to the parts that depend on it; MALFUNC does not pass between parts; anything that
is not NOMINAL makes the controllers that use it MALFUNC. A backup that is not selected has no influence.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from mission.parts import BUSES, Controller, Part
from mission.ship import Ship
from mission.state import ShipState


class Status(StrEnum):
    """The status of a part or a controller."""

    NOMINAL = "NOMINAL"
    MALFUNC = "MALFUNC"
    OFFLINE = "OFFLINE"


def statuses(ship: Ship, state: ShipState) -> dict[str, Status]:
    """Return the status of every part and controller, by id."""
    dark = offline(ship, state)
    found = {part.id: part_status(part, state, dark) for part in ship.parts.values()}
    for controller in ship.controllers.values():
        _controller_status(ship, state, controller, dark, found)
    return found


# ------------------------------------------------------------------------------------------------ OFFLINE


def offline(ship: Ship, state: ShipState) -> frozenset[str]:
    """Return the ids of all parts and controllers that do not run."""
    dead_buses = {
        bus
        for bus in BUSES.values()
        if not state.switches[bus] or state.setting(bus, "BREAKER") == "OPEN" or state.fault(bus) == "dead"
    }
    dark = _without_power(ship, state, dead_buses)
    battery = state.setting("EPS-CTRL", "BATTERY")
    battery_gives = battery not in dark and state.quantities[battery]["CHARGE"] > 0
    if not cell_gives(state, dark) and not battery_gives:
        dark = _without_power(ship, state, set(BUSES.values()))
    return dark


def cell_gives(state: ShipState, dark: frozenset[str]) -> bool:
    """Whether the selected fuel cell carries load: running, warm, and fed with both gases."""
    cell = state.setting("FCS-CTRL", "FUEL_CELL")
    if cell in dark or state.warmups.get(cell, 0) > 0 or state.setting(cell, "MODE") == "STANDBY":
        return False
    return all(tank_gives(state, state.setting("FCS-CTRL", slot), dark) for slot in ("H2_TANK", "O2_TANK"))


def tank_gives(state: ShipState, tank: str, dark: frozenset[str]) -> bool:
    """Whether a tank is on, open and not empty."""
    is_open = tank not in dark and state.setting(tank, "VALVE") == "OPEN"
    return is_open and state.quantities[tank]["QUANTITY"] > 0


def _without_power(ship: Ship, state: ShipState, dead_buses: set[str]) -> frozenset[str]:
    dark = dead_buses | {ident for ident, on in state.switches.items() if not on}
    dark |= {part for part in state.faults if state.fault(part) == "dead"}
    dead_controllers = {c for c in ship.controllers if BUSES[state.setting(c, "BUS")] in dead_buses}
    dark |= dead_controllers
    if dead_controllers:
        dark |= {part for part, controller in ship.fed.items() if controller in dead_controllers}
    return frozenset(dark)


# ------------------------------------------------------------------------------------------------ MALFUNC


def reading(state: ShipState, part: Part, key: str) -> float:
    """Return the value that a part displays; a drifting sensor displays the false one in its fault."""
    if part.telemetry[key].environment:
        fault = state.faults.get(part.id)
        return fault.hold.get(key, state.cabin[key]) if fault else state.cabin[key]
    return state.quantities[part.id][key]


def lost_inputs(state: ShipState, part: Part, dark: frozenset[str]) -> list[str]:
    """Return the ids of the OFFLINE parts that a part depends on."""
    return [needed for needed in map(state.resolve, part.depends_on) if needed in dark]


def out_of_limits(state: ShipState, part: Part) -> list[str]:
    """Return the keys of the part's quantities that are out of limits; cabin quantities do not count."""
    if not part.own:
        return []
    values = state.quantities[part.id]
    return [quantity.key for quantity in part.own if not quantity.within(values[quantity.key])]


def part_status(part: Part, state: ShipState, dark: frozenset[str]) -> Status:
    """Return the status of a part; `dark` are the OFFLINE parts and controllers."""
    if part.id in dark:
        return Status.OFFLINE
    faulty = state.fault(part.id) in ("stuck", "worn") or state.warmups.get(part.id, 0) > 0
    if faulty or lost_inputs(state, part, dark) or out_of_limits(state, part):
        return Status.MALFUNC
    return Status.NOMINAL


def used_parts(ship: Ship, state: ShipState, controller: Controller) -> Iterator[str]:
    """Yield the ids of the parts that a controller uses now: fixed ones, selected ones, and buses."""
    yield from controller.uses
    chosen = state.settings[controller.id]
    yield from (chosen[slot] for slot in controller.slots)
    if controller.uses_buses:
        yield from sorted({BUSES[state.settings[c]["BUS"]] for c in ship.controllers})


def watched_out_of_limits(
    ship: Ship, state: ShipState, controller: Controller, dark: frozenset[str]
) -> list[str]:
    """Return the cabin quantities watched by a controller that the selected sensor shows out of limits."""
    sensor = ship.parts[state.setting("ECS-CTRL", "CABIN_SENSOR")]
    if sensor.id in dark:
        return []
    return [
        key for key in controller.watches if not sensor.telemetry[key].within(reading(state, sensor, key))
    ]


def _controller_status(
    ship: Ship, state: ShipState, controller: Controller, dark: frozenset[str], found: dict[str, Status]
) -> Status:
    """Return a controller's status; store it and those of the controllers that it uses in `found`."""
    if controller.id not in found:
        below = [
            _controller_status(ship, state, ship.controllers[c], dark, found)
            for c in controller.uses_controllers
        ]
        below += [found[part] for part in used_parts(ship, state, controller)]
        if controller.id in dark:
            found[controller.id] = Status.OFFLINE
        elif set(below) - {Status.NOMINAL} or watched_out_of_limits(ship, state, controller, dark):
            found[controller.id] = Status.MALFUNC
        else:
            found[controller.id] = Status.NOMINAL
    return found[controller.id]
