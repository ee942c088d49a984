"""Parts and controllers as `ship.toml` describes them: settings, quantities, limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Number = int | float
TOLERANCE = 1e-6  # limits are inclusive, but summing many steps adds rounding errors
BUSES: Mapping[str, str] = {"A": "EPS-BUS-A", "B": "EPS-BUS-B"}


def decimals(*numbers: Number) -> int:
    """Return the largest number of decimals among the numbers: `21.0` has 1, the integer `2300` has 0."""
    return max(len(repr(n).partition(".")[2]) if isinstance(n, float) else 0 for n in numbers)


def keyed(column: str) -> BeforeValidator:
    """Return a validator that turns a list of rows into a mapping, keyed by the value of `column`."""
    return BeforeValidator(lambda rows: {row[column]: row for row in rows})


class FileRow(BaseModel):
    """A row of one of the game's files; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Setting(FileRow):
    """A setting that allows listed words, a range of numbers, or texts that match a pattern."""

    key: str
    default: Annotated[str, BeforeValidator(str)]  # this and all values are as the console shows them
    values: tuple[str, ...] = ()
    min: Number | None = None
    max: Number | None = None
    unit: str = ""
    pattern: str = ""
    hinders: tuple[str, ...] = ()  # values that keep the part from its normal work
    works: tuple[Number, Number] | None = None  # the range of numbers for normal work

    def accept(self, text: str) -> str | None:
        """Return a typed text in the form that the console shows, None if the value is not allowed."""
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
        """Describe the allowed values for an error message, for instance `0 to 100 %`."""
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
    """A telemetry quantity with its unit, nominal value and limits `min` and `max`, both included."""

    key: str
    unit: str
    nominal: Number
    min: Number
    max: Number
    environment: bool = False  # it measures the cabin, not the part

    @cached_property
    def places(self) -> int:
        """The number of decimals to show: the most that the nominal value or a limit has."""
        return decimals(self.nominal, self.min, self.max)

    def within(self, value: float) -> bool:
        """Whether a value is within the limits."""
        return self.min - TOLERANCE <= value <= self.max + TOLERANCE

    def shown(self, value: float) -> str:
        """Format a value with `places` decimals, without a minus sign if it rounds to zero."""
        return f"{value:.{self.places}f}" if round(value, self.places) else f"{0:.{self.places}f}"


class Part(FileRow):
    """A part of a system, including the fields that it inherits from the part named in `like`."""

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
        """The quantities of the part itself, without those that measure the cabin."""
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
    """A controller's setting that selects a part: its value is one of the ids in `parts`."""

    key: str
    parts: tuple[str, ...]
    default: str


class Controller(FileRow):
    """A controller, with the parts and controllers that it uses and the cabin quantities that it watches."""

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
        """The slots and the BUS as settings, by key."""
        slots = {s.key: Setting(key=s.key, default=s.default, values=s.parts) for s in self.slots.values()}
        return {**slots, "BUS": Setting(key="BUS", default=self.bus, values=tuple(BUSES))}
