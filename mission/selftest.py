"""Self-tests: what a part or a controller reports about itself, as code and words."""

from __future__ import annotations

from collections.abc import Iterator

from mission.parts import Part
from mission.ship import Ship
from mission.state import ShipState
from mission.status import (
    Status,
    lost_inputs,
    offline,
    out_of_limits,
    reading,
    statuses,
    used_parts,
    watched_out_of_limits,
)

AGREEMENT = {"PRESSURE": 0.5, "PPO2": 0.3, "PPCO2": 0.05, "TEMP": 0.5, "HUMIDITY": 5.0}


def self_test(ship: Ship, state: ShipState, ident: str) -> list[str]:
    """The lines of a self-test; a part answers with one."""
    answers = (
        _controller(ship, state, ident)
        if ident in ship.controllers
        else _part(ship, state, ship.parts[ident])
    )
    return [f"{code} {ship.titles[code]}{': ' + text if text else ''}." for code, text in answers]


def _part(ship: Ship, state: ShipState, part: Part) -> list[tuple[str, str]]:
    """The first finding, or F-00."""
    return [next(_findings(ship, state, part), ("F-00", ""))]


def _findings(ship: Ship, state: ShipState, part: Part) -> Iterator[tuple[str, str]]:
    """Everything that a part can find about itself, the most telling first."""
    dark = offline(ship, state)
    fault = state.fault(part.id)
    if part.id in dark:
        yield _why_offline(ship, state, part, dark)
    if fault == "stuck":
        yield "F-51", f"{part.id} does not carry out commands"
    if fault == "worn":
        yield "F-41", f"{part.id} is at the end of its life"
    if left := state.warmups.get(part.id):
        yield "F-71", f"{left:.0f} minutes are left"
    for needed in lost_inputs(state, part, dark):
        yield "F-21", f"{needed} is OFFLINE"
    for key, setting in part.settings.items():
        if setting.hindering(state.setting(part.id, key)):
            yield "F-31", f"{key} is {state.setting(part.id, key)}"
    for key in out_of_limits(state, part):
        yield "F-32", _limits(state, part, key)
    yield from _disagreement(ship, state, part, dark)


def _why_offline(ship: Ship, state: ShipState, part: Part, dark: frozenset[str]) -> tuple[str, str]:
    controller = ship.controller_of(part.id)
    if not state.switches[part.id]:
        return "F-11", f"the switch of {part.id} is off"
    if part.fed and controller in dark and state.switches[controller]:
        return "F-11", f"bus {state.setting(controller, 'BUS')} is dead"
    if state.fault(part.id) == "dead":
        return "F-12", f"{part.id} has power and is dead"
    if state.settings.get(part.id, {}).get("BREAKER") == "OPEN":
        return "F-31", "BREAKER is OPEN"
    return "F-11", "there is no source of power"


def _limits(state: ShipState, part: Part, key: str) -> str:
    quantity = part.telemetry[key]
    value = quantity.shown(reading(state, part, key))
    low, high = quantity.shown(quantity.min), quantity.shown(quantity.max)
    return f"{key} is {value} {quantity.unit}, limits {low} to {high}"


def _disagreement(
    ship: Ship, state: ShipState, part: Part, dark: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """F-61 for a sensor that has drifted, where its twin runs and shows the difference."""
    twins = [part.backup_of] if part.backup_of else list(ship.backups_of(part.id))
    if state.fault(part.id) != "drift" or not twins or twins[0] in dark:
        return
    twin = ship.parts[twins[0]]
    for key in part.telemetry:
        if abs(reading(state, part, key) - reading(state, twin, key)) > AGREEMENT[key]:
            yield "F-61", f"{key} differs from {twin.id}"


def _controller(ship: Ship, state: ShipState, ident: str) -> list[tuple[str, str]]:
    """Everything that keeps a controller from being NOMINAL."""
    controller, found, dark = ship.controllers[ident], statuses(ship, state), offline(ship, state)
    if ident in dark:
        off = not state.switches[ident]
        why = f"the switch of {ident} is off" if off else f"bus {state.setting(ident, 'BUS')} is dead"
        return [("F-11", why)]
    users = [*controller.uses_controllers, *used_parts(ship, state, controller)]
    answers = [("F-21", f"{used} is {found[used]}") for used in users if found[used] != Status.NOMINAL]
    sensor = ship.parts[state.setting("ECS-CTRL", "CABIN_SENSOR")]
    watched = watched_out_of_limits(ship, state, controller, dark)
    answers += [("F-32", f"cabin {_limits(state, sensor, key)}") for key in watched]
    return answers or [("F-00", "")]
