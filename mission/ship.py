"""The ship as it is built: systems, controllers, parts, alarms and constants, read from `ship.toml`.

Nothing here changes during a game; `state.py` holds what changes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mission.parts import Controller, FileRow, Part, Quantity, Setting, keyed

SHIP_FILE = Path(__file__).parent / "ship.toml"


class SystemRow(FileRow):
    """A system and the one that contains it."""

    id: str
    name: str
    controller: str
    parent: str = ""


class AlarmRow(FileRow):
    """An alarm: its parts, and the quantity, status or event that raises it."""

    code: str
    level: Literal["warning", "caution"]
    title: str
    of: tuple[str, ...]
    procedure: str
    quantity: str = ""
    below: float | None = None
    above: float | None = None
    outside: bool = False
    status: str = ""
    event: str = ""
    always: bool = False


class InterlockRow(FileRow):
    """A value of a setting that is accepted only under conditions."""

    part: str
    setting: str
    value: str
    requires: tuple[str, ...]
    error: str
    alarm: str = ""


class CommandRow(FileRow):
    """A command of the console."""

    name: str
    syntax: str
    minutes: float


class ShipRow(BaseModel):
    """The ship's names."""

    call_sign: str
    prompt: str


class MissionRow(BaseModel):
    """The people aboard, and the ground stations."""

    aboard: int
    control: str


def _column(key: str, value: str) -> BeforeValidator:
    """Read rows as a mapping of two of their columns."""
    return BeforeValidator(lambda rows: {row[key]: row[value] for row in rows})


class Ship(BaseModel):
    """The whole ship; lookups that every step of time needs are computed once."""

    model_config = ConfigDict(frozen=True)

    names: ShipRow = Field(alias="ship")
    mission: MissionRow
    systems: Annotated[Mapping[str, SystemRow], keyed("id")]
    controllers: Annotated[Mapping[str, Controller], keyed("id")]
    parts: Annotated[Mapping[str, Part], keyed("id")]
    alarms: tuple[AlarmRow, ...]
    interlocks: tuple[InterlockRow, ...]
    commands: Annotated[Mapping[str, CommandRow], keyed("name")]
    self_test_codes: Annotated[Mapping[str, str], _column("code", "title")]
    console_errors: Annotated[Mapping[str, str], _column("code", "title")]
    physics: Annotated[Mapping[str, float], _column("key", "value")]
    radio_keys: Annotated[Mapping[str, str], _column("part", "value")]

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of self-test codes and of errors of the console."""
        return {**self.self_test_codes, **self.console_errors}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """All ids of controllers and parts, in the order of the file."""
        return (*self.controllers, *self.parts)

    def settings_of(self, ident: str) -> Mapping[str, Setting]:
        """The settings of a part or a controller."""
        return self.parts[ident].settings if ident in self.parts else self.controllers[ident].settings

    def telemetry_of(self, ident: str) -> Mapping[str, Quantity]:
        """The quantities of a part; a controller has none."""
        return self.parts[ident].telemetry if ident in self.parts else {}

    def name_of(self, ident: str) -> str:
        """The name of a part or a controller."""
        return self.parts[ident].name if ident in self.parts else self.controllers[ident].name

    def controller_of(self, ident: str) -> str:
        """The controller whose BUS feeds a part; a controller is its own."""
        return ident if ident in self.controllers else self.systems[self.parts[ident].system].controller

    @cached_property
    def fed(self) -> Mapping[str, str]:
        """The parts whose power comes from a bus, in the order of the file, each with its controller."""
        return {part.id: self.controller_of(part.id) for part in self.parts.values() if part.fed}

    @cached_property
    def slots_with(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Controller and key of every slot that may hold a part, by part."""
        found: dict[str, list[tuple[str, str]]] = {part: [] for part in self.parts}
        for controller in self.controllers.values():
            for key, slot in controller.slots.items():
                for part in slot.parts:
                    found[part].append((controller.id, key))
        return found

    def backups_of(self, part: str) -> tuple[str, ...]:
        """The backups of a primary."""
        return tuple(p.id for p in self.parts.values() if p.backup_of == part)

    def depth(self, system: str) -> int:
        """0 for an outer system, 1 for one inside another."""
        parent = self.systems[system].parent
        return 1 + self.depth(parent) if parent else 0

    def inside(self, system: str) -> set[str]:
        """A system and the systems within it."""
        inner = (self.inside(row.id) for row in self.systems.values() if row.parent == system)
        return {system}.union(*inner)


@cache
def the_ship() -> Ship:
    """The ship that comes with the package, read once."""
    raw = tomllib.loads(SHIP_FILE.read_text(encoding="utf-8"))
    return Ship.model_validate({**raw, "parts": _resolved(raw["parts"])})


def _resolved(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts with the columns that `like` gives them."""
    raw = {row["id"]: row for row in rows}

    def whole(row: dict[str, Any]) -> dict[str, Any]:
        return {**whole(raw[row["like"]]), **row} if "like" in row else row

    return [whole(row) for row in raw.values()]
