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
