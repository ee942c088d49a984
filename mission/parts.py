"""Parts and controllers as `ship.toml` describes them: settings, quantities, limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Number = int | float
TOLERANCE = 1e-6  # limits are inclusive, and sums of steps are not exact
BUSES: Mapping[str, str] = {"A": "EPS-BUS-A", "B": "EPS-BUS-B"}


def decimals(*numbers: Number) -> int:
    """Return the most decimals that the numbers are written with: `21.0` has one, `2300` none."""
    return max(len(repr(n).partition(".")[2]) if isinstance(n, float) else 0 for n in numbers)


def keyed(column: str) -> BeforeValidator:
    """Return a validator that turns the rows of a file into a mapping by one of their columns."""
    return BeforeValidator(lambda rows: {row[column]: row for row in rows})


class FileRow(BaseModel):
    """A row of one of the game's files; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Setting(FileRow):
    """A setting: allowed words, a range of numbers, or a pattern; values are as the console shows them."""

    key: str
    default: Annotated[str, BeforeValidator(str)]
    values: tuple[str, ...] = ()
    min: Number | None = None
    max: Number | None = None
    unit: str = ""
    pattern: str = ""
    hinders: tuple[str, ...] = ()
    works: tuple[Number, Number] | None = None

    def accept(self, text: str) -> str | None:
        """Return the value as the console shows it, None if it is not allowed."""
        if self.values:
            return text.upper() if text.upper() in self.values else None
        if self.pattern:
            return text.upper() if re.fullmatch(self.pattern, text.upper()) else None
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            return None
        if self.min is None or self.max is None or not self.min <= number <= self.max:
            return None
        return self.shown(number)

    def shown(self, number: float) -> str:
        """Format a number with the decimals of the default, or with more if it needs them."""
        text = f"{number:.{len(self.default.partition('.')[2])}f}"
        return text if float(text) == number else f"{number:g}"

    def allowed(self) -> str:
        """Return the allowed values, in words."""
        if self.values:
            return ", ".join(self.values)
        if self.pattern:
            return "letters, a hyphen, two digits"
        return f"{self.shown(self.min or 0)} to {self.shown(self.max or 0)} {self.unit}".strip()

    def hindering(self, value: str) -> bool:
        """Whether the value keeps the part from its normal work."""
        if self.works is not None:
            return not self.works[0] <= float(value) <= self.works[1]
        return value in self.hinders


class Quantity(FileRow):
    """A quantity of telemetry with its limits, both included."""

    key: str
    unit: str
    nominal: Number
    min: Number
    max: Number
    environment: bool = False

    @cached_property
    def places(self) -> int:
        """The decimals with which values are shown."""
        return decimals(self.nominal, self.min, self.max)

    def within(self, value: float) -> bool:
        """Whether a value is within the limits."""
        return self.min - TOLERANCE <= value <= self.max + TOLERANCE

    def shown(self, value: float) -> str:
        """A value with the decimals of the limits; never a negative zero."""
        return f"{value:.{self.places}f}" if round(value, self.places) else f"{0:.{self.places}f}"


class Part(FileRow):
    """A part of a system, with everything that `like` gives it."""

    id: str
    name: str
    system: str
    kind: str
    role: Literal["primary", "backup"]
    power_w: float
    depends_on: tuple[str, ...]
    settings: Annotated[Mapping[str, Setting], keyed("key")]
    telemetry: Annotated[Mapping[str, Quantity], keyed("key")]
    codes: tuple[str, ...]
    like: str = ""
    backup_of: str = ""
    serial: str = ""
    feed: Literal["bus", "none"] = "bus"
    switched: Literal["on", "off"] | None = None
    warmup_min: float = 0
    start: dict[str, str | int | float] = Field(default_factory=dict)

    @cached_property
    def own(self) -> tuple[Quantity, ...]:
        """Its quantities without those of the cabin."""
        return tuple(quantity for quantity in self.telemetry.values() if not quantity.environment)

    @property
    def fed(self) -> bool:
        """Whether its power comes from a bus."""
        return self.feed == "bus"

    @property
    def switched_on(self) -> bool:
        """Whether its switch is on in a sound ship."""
        return self.switched == "on" if self.switched else self.role == "primary"


class Slot(FileRow):
    """A setting of a controller whose value is a part id."""

    key: str
    parts: tuple[str, ...]
    default: str


class Controller(FileRow):
    """A controller and what it uses; its slots and its BUS are settings."""

    id: str
    name: str
    system: str
    power_w: float
    bus: Literal["A", "B"]
    slots: Annotated[Mapping[str, Slot], keyed("key")]
    uses: tuple[str, ...]
    uses_controllers: tuple[str, ...]
    uses_buses: bool = False
    watches: tuple[str, ...]

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """The slots and the BUS."""
        slots = {s.key: Setting(key=s.key, default=s.default, values=s.parts) for s in self.slots.values()}
        return {**slots, "BUS": Setting(key="BUS", default=self.bus, values=tuple(BUSES))}
