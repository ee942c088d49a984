"""Parts and controllers as they are built: settings, quantities, limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mission.schema import Number, Value

TOLERANCE = 1e-6  # limits are inclusive, and sums of steps are not exact


def decimals(*numbers: Number) -> int:
    """Decimals that the numbers were written with: `21.0` has one, `2300` none."""
    return max(len(repr(n).partition(".")[2]) if isinstance(n, float) else 0 for n in numbers)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: allowed words, a range of numbers, or a pattern; values are as the console shows them."""

    key: str
    default: str
    values: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    pattern: str = ""
    places: int = 0
    hinders: tuple[str, ...] = ()
    works: tuple[float, float] | None = None

    def accept(self, text: str) -> str | None:
        """The value as the console shows it, or None where it is not allowed."""
        if self.values:
            return text.upper() if text.upper() in self.values else None
        if self.pattern:
            return text.upper() if re.fullmatch(self.pattern, text.upper()) else None
        try:
            number = float(text)
        except ValueError:
            return None
        if self.minimum is None or self.maximum is None or not self.minimum <= number <= self.maximum:
            return None
        return self.shown(number)

    def shown(self, number: float) -> str:
        """A number with the decimals of the default, or with more where it needs them."""
        text = f"{number:.{self.places}f}"
        return text if float(text) == number else f"{number:g}"

    def allowed(self) -> str:
        """What is allowed, in words."""
        if self.values:
            return ", ".join(self.values)
        if self.pattern:
            return "letters, a hyphen, two digits"
        return f"{self.shown(self.minimum or 0)} to {self.shown(self.maximum or 0)} {self.unit}".strip()

    def hindering(self, value: str) -> bool:
        """Whether the value keeps the part from its normal work."""
        if self.works is not None:
            return not self.works[0] <= float(value) <= self.works[1]
        return value in self.hinders


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of telemetry with its limits, both included."""

    key: str
    unit: str
    nominal: float
    minimum: float
    maximum: float
    places: int
    environment: bool = False

    def within(self, value: float) -> bool:
        """Whether a value is within the limits."""
        return self.minimum - TOLERANCE <= value <= self.maximum + TOLERANCE

    def shown(self, value: float) -> str:
        """A value with the decimals of the limits; never a negative zero."""
        return f"{value:.{self.places}f}" if round(value, self.places) else f"{0:.{self.places}f}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a system."""

    id: str
    name: str
    system: str
    kind: str
    role: str
    power_w: float
    depends_on: tuple[str, ...]
    settings: Mapping[str, Setting]
    telemetry: Mapping[str, Quantity]
    backup_of: str
    serial: str
    fed: bool
    switched_on: bool
    warmup_min: float
    start: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller; its slots and its BUS are settings."""

    id: str
    name: str
    system: str
    power_w: float
    settings: Mapping[str, Setting]
    slots: tuple[str, ...]
    uses: tuple[str, ...]
    uses_controllers: tuple[str, ...]
    uses_buses: bool
    watches: tuple[str, ...]
