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
    """A system; `parent` is the id of the system that contains it, if any."""

    id: str
    name: str
    controller: str
    parent: str = ""


class AlarmRow(FileRow):
    """An alarm: its subjects, and the quantity, status or event that raises it."""

    code: str
    level: Literal["warning", "caution"]
    title: str
    of: tuple[str, ...]  # subjects: part ids, CONTROLLER.SLOT, or *-CTRL for every controller
    procedure: str
    quantity: str = ""
    below: float | None = None
    above: float | None = None
    outside: bool = False  # raised outside the quantity's own limits
    status: str = ""
    event: str = ""
    always: bool = False  # raised even if the controller that would report it is OFFLINE


class InterlockRow(FileRow):
    """A value of a setting that is accepted only under conditions."""

    part: str
    setting: str
    value: str
    requires: tuple[str, ...]  # conditions in the form of `mission/conditions.py`
    error: str  # code of the refusal
    alarm: str = ""  # code of an alarm that a refusal raises


class CommandRow(FileRow):
    """A command of the console; `minutes` is the ship's time that it takes."""

    name: str
    syntax: str
    minutes: float


class ShipRow(BaseModel):
    """The ship's call sign, and the prompt of its console."""

    call_sign: str
    prompt: str


class MissionRow(BaseModel):
    """The number of people aboard, and the name of mission control."""

    aboard: int
    control: str


def _column(key: str, value: str) -> BeforeValidator:
    """Return a validator that turns rows into a mapping from column `key` to column `value`."""
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
        """The titles of self-test codes and of console errors, by code."""
        return {**self.self_test_codes, **self.console_errors}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """All ids of controllers and parts, in the order of the file."""
        return (*self.controllers, *self.parts)

    def settings_of(self, ident: str) -> Mapping[str, Setting]:
        """Return the settings of a part or a controller, by key."""
        return self.parts[ident].settings if ident in self.parts else self.controllers[ident].settings

    def telemetry_of(self, ident: str) -> Mapping[str, Quantity]:
        """Return the telemetry quantities of a part, by key; {} for a controller."""
        return self.parts[ident].telemetry if ident in self.parts else {}

    def name_of(self, ident: str) -> str:
        """Return the name of a part or a controller."""
        return self.parts[ident].name if ident in self.parts else self.controllers[ident].name

    def controller_of(self, ident: str) -> str:
        """Return the controller whose BUS feeds a part; for a controller, return its own id."""
        return ident if ident in self.controllers else self.systems[self.parts[ident].system].controller

    @cached_property
    def fed(self) -> Mapping[str, str]:
        """The controller of each part that a bus powers, by part id in the order of the file."""
        return {part.id: self.controller_of(part.id) for part in self.parts.values() if part.fed}

    @cached_property
    def slots_with(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The (controller, key) of every slot that may select a part, by part id; [] if there is none."""
        found: dict[str, list[tuple[str, str]]] = {part: [] for part in self.parts}
        for controller in self.controllers.values():
            for key, slot in controller.slots.items():
                for part in slot.parts:
                    found[part].append((controller.id, key))
        return found

    def backups_of(self, part: str) -> tuple[str, ...]:
        """Return the ids of the backups of a primary part; () if it has none."""
        return tuple(p.id for p in self.parts.values() if p.backup_of == part)

    def depth(self, system: str) -> int:
        """Return how many systems contain this one: 0 for an outermost system."""
        parent = self.systems[system].parent
        return 1 + self.depth(parent) if parent else 0

    def inside(self, system: str) -> set[str]:
        """Return the ids of a system and of all systems inside it."""
        inner = (self.inside(row.id) for row in self.systems.values() if row.parent == system)
        return {system}.union(*inner)


@cache
def the_ship() -> Ship:
    """Return the ship that comes with the package; `ship.toml` is read once."""
    raw = tomllib.loads(SHIP_FILE.read_text(encoding="utf-8"))
    return Ship.model_validate({**raw, "parts": _resolved(raw["parts"])})


def _resolved(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of all parts, each completed with the columns of the part that its `like` names."""
    raw = {row["id"]: row for row in rows}

    def whole(row: dict[str, Any]) -> dict[str, Any]:
        return {**whole(raw[row["like"]]), **row} if "like" in row else row

    return [whole(row) for row in raw.values()]
