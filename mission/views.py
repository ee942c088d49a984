"""Views of the console (systems, parts, details, telemetry, alarms) and the gauges of a panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mission.alarms import active_alarms
from mission.parts import BUSES, Part, Quantity
from mission.ship import Ship
from mission.state import ShipState, clock
from mission.status import Status, offline, reading, statuses

LABEL_WIDTH = 10
CABIN_LABELS = {
    "PRESSURE": "cabin pressure",
    "PPO2": "oxygen",
    "PPCO2": "carbon dioxide",
    "TEMP": "cabin temperature",
    "HUMIDITY": "humidity",
}
GAUGES = (
    ("battery", "EPS-CTRL.BATTERY", "CHARGE"),
    ("fuel cell", "FCS-CTRL.FUEL_CELL", "OUTPUT"),
    ("coolant", "ECS-CLV-1", "COOLANT_TEMP"),
    ("computer", "CMP-CTRL.CPU", "TEMP"),
    ("LOX tank", "ATM-CTRL.O2_TANK", "QUANTITY"),
    ("radio signal", "COM-CTRL.TRANSPONDER", "SIGNAL"),
)


def systems(ship: Ship, state: ShipState) -> list[str]:
    """Return a line for each system: id, name and status; inner systems are indented."""
    found = statuses(ship, state)
    return [
        f"{row.id}  {'  ' * ship.depth(row.id) + row.name:<31}{found[row.controller]}"
        for row in ship.systems.values()
    ]


def parts(ship: Ship, state: ShipState, filters: dict[str, str]) -> list[str]:
    """Return a line for each part that matches all filters (name → value): id, name, role, status."""
    found = statuses(ship, state)
    rows = [
        (part.id, part.name, part.role, found[part.id].value)
        for part in ship.parts.values()
        if _passes(ship, part, found[part.id], filters)
    ]
    return columns(rows) or ["no part matches these filters"]


def _passes(ship: Ship, part: Part, status: Status, filters: dict[str, str]) -> bool:
    system = filters.get("--system")
    return (
        (system is None or part.system in ship.inside(system))
        and filters.get("--status", status) == status
        and filters.get("--kind", part.kind) == part.kind
        and filters.get("--role", part.role) == part.role
    )


def columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns, two spaces apart; [] for no rows."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def show(ship: Ship, state: ShipState, ident: str) -> list[str]:
    """Return lines with a part's or controller's status, power, connections and settings."""
    rows = _part(ship, state, ident) if ident in ship.parts else _controller(ship, state, ident)
    width = max(LABEL_WIDTH, *(len(label) + 2 for label, _ in rows))
    status = statuses(ship, state)[ident]
    head = [ident, ship.name_of(ident)]
    if ident in ship.parts:
        head += [ship.parts[ident].system, ship.parts[ident].role]
    else:
        head += [ship.controllers[ident].system]
    return ["  ".join([*head, status]), *(f"  {label:<{width}}{text}" for label, text in rows)]


def _power(ship: Ship, state: ShipState, ident: str, watts: float, *, fed: bool) -> tuple[str, str]:
    switch = "on" if state.switches[ident] else "off"
    bus = state.setting(ship.controller_of(ident), "BUS")
    return "power", f"{switch}, {watts:g} W, bus {bus}" if fed else f"{switch}, power of its own"


def _part(ship: Ship, state: ShipState, ident: str) -> list[tuple[str, str]]:
    part = ship.parts[ident]
    rows = [_power(ship, state, ident, part.power_w, fed=part.fed)]
    rows.append(("needs", ", ".join(_need(state, r) for r in part.depends_on) or "nothing"))
    rows.append(("used by", ", ".join(users(ship, state, ident)) or "nobody"))
    if backups := ship.backups_of(ident):
        rows.append(("backup", ", ".join(backups)))
    if part.backup_of:
        rows.append(("backup of", part.backup_of))
    for key, setting in part.settings.items():
        rows.append((key, f"{state.setting(ident, key)} {setting.unit}".strip()))
    return rows


def _need(state: ShipState, reference: str) -> str:
    return f"{state.resolve(reference)} ({reference.replace('.', ' ')})" if "." in reference else reference


def users(ship: Ship, state: ShipState, part: str) -> list[str]:
    """Return the controllers that use a part now, each with the slot or BUS that selects it, if any."""
    chosen = [f"{c} {key}" for c, key in ship.slots_with[part] if state.setting(c, key) == part]
    fixed = [c.id for c in ship.controllers.values() if part in c.uses]
    buses = [f"{c} BUS" for c in ship.controllers if BUSES[state.setting(c, "BUS")] == part]
    return chosen + fixed + buses


def _controller(ship: Ship, state: ShipState, ident: str) -> list[tuple[str, str]]:
    controller, found = ship.controllers[ident], statuses(ship, state)
    rows = [_power(ship, state, ident, controller.power_w, fed=True)]
    for key in controller.slots:
        chosen = state.setting(ident, key)
        rows.append((key, f"{chosen} {found[chosen]}"))
    for label, used in (("uses", controller.uses), ("below", controller.uses_controllers)):
        if used:
            rows.append((label, ", ".join(f"{u} {found[u]}" for u in used)))
    if controller.watches:
        rows.append(("watches", ", ".join(controller.watches)))
    return [*rows, ("BUS", state.setting(ident, "BUS"))]


def telemetry(ship: Ship, state: ShipState, ident: str, keys: Iterable[str]) -> list[str]:
    """Return a line for each quantity: value, nominal value, limits; an OFFLINE part shows dashes."""
    part, silent = ship.parts[ident], ident in offline(ship, state)
    rows = []
    for key in keys:
        quantity, value = part.telemetry[key], reading(state, part, key)
        nominal, low, high = map(quantity.shown, (quantity.nominal, quantity.min, quantity.max))
        shown = "-" if silent else quantity.shown(value)
        warned = "" if silent or quantity.within(value) else "OUT OF LIMITS"
        rows.append(
            (ident, key, f"{shown} {quantity.unit}", f" nominal {nominal}, limits {low} to {high}", warned)
        )
    return columns(rows)


def alarms(ship: Ship, state: ShipState) -> list[str]:
    """Return a line for each active alarm, warnings first."""
    rows = [(a.code, a.title, a.text, a.procedure) for a in active_alarms(ship, state)]
    return columns(rows) or ["no alarm is active"]


def log(ship: Ship, state: ShipState) -> list[str]:
    """Return a line for every alarm of the game so far, oldest first."""
    titles = {row.code: row.title for row in ship.alarms}
    rows = [
        (clock(e.minute), e.code, titles[e.code], e.text, "" if e.gone is None else f"gone {clock(e.gone)}")
        for e in state.log
    ]
    return columns(rows) or ["the log is empty"]


# -- gauges ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity on the page's panel; `value` is None if the part is OFFLINE."""

    label: str
    part: str
    quantity: Quantity
    value: float | None


def gauges(ship: Ship, state: ShipState) -> list[Gauge]:
    """Return the panel's quantities; those of the cabin are as the selected sensor shows them."""
    sensor = state.resolve("ECS-CTRL.CABIN_SENSOR")
    wanted = [(label, sensor, key) for key, label in CABIN_LABELS.items()]
    wanted += [(label, state.resolve(of), key) for label, of, key in GAUGES]
    return [_gauge(ship, state, *row) for row in wanted]


def _gauge(ship: Ship, state: ShipState, label: str, part: str, key: str) -> Gauge:
    value = None if part in offline(ship, state) else reading(state, ship.parts[part], key)
    return Gauge(label, part, ship.parts[part].telemetry[key], value)
