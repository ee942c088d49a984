"""What a panel beside the console shows: the quantities that matter."""

from __future__ import annotations

from dataclasses import dataclass

from mission import views
from mission.ship import Ship
from mission.state import ShipState

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


@dataclass(frozen=True, slots=True)
class Gauge:
    """A quantity for a panel; `value` is a dash where nothing is sent."""

    label: str
    part: str
    key: str
    value: str
    unit: str
    within: bool


def gauges(ship: Ship, state: ShipState) -> list[Gauge]:
    """The quantities that matter, the cabin's as the selected sensor shows them."""
    sensor = state.resolve("ECS-CTRL.CABIN_SENSOR")
    wanted = [(label, sensor, key) for key, label in CABIN_LABELS.items()]
    wanted += [(label, state.resolve(of), key) for label, of, key in GAUGES]
    return [_gauge(ship, state, *row) for row in wanted]


def _gauge(ship: Ship, state: ShipState, label: str, part: str, key: str) -> Gauge:
    quantity = ship.parts[part].telemetry[key]
    value = views.value_of(ship, state, part, key)
    shown = "-" if value is None else quantity.shown(value)
    return Gauge(label, part, key, shown, quantity.unit, value is None or quantity.within(value))


def in_words(ship: Ship, state: ShipState) -> str:
    """The live state as lines of text, for an assistant that may read it."""
    broken = views.parts(ship, state, {"--status": "MALFUNC"})
    off = views.parts(ship, state, {"--status": "OFFLINE", "--role": "primary"})
    cabin = [f"{gauge.label}: {gauge.value} {gauge.unit}" for gauge in gauges(ship, state)]
    rows = ["Alarms:", *views.alarms(ship, state), "Not NOMINAL:", *broken, *off, "Gauges:", *cabin]
    return "\n".join(rows)
