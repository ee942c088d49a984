"""What `ship.toml` may hold: its rows as pydantic models, so that a mistake in the file is reported."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class FileRow(BaseModel):
    """A row of one of the game's files: an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SystemRow(FileRow):
    """A system and the one that contains it."""

    id: str
    name: str
    controller: str
    parent: str = ""


class AlarmRow(FileRow):
    """An alarm: of which parts, and the quantity, status or event that raises it."""

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


class CodeRow(FileRow):
    """A self-test code or an error of the console."""

    code: str
    title: str
    meaning: str = ""


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


class PhysicsRow(FileRow):
    """A constant of the physics."""

    key: str
    value: float
    unit: str
    meaning: str


class RadioKeyRow(FileRow):
    """The key that the other side of a radio expects."""

    part: str
    value: str
    rule: str
    found_in: tuple[str, ...]


class ShipRow(BaseModel):
    """The ship's names."""

    name: str
    call_sign: str
    lander: str
    lander_call_sign: str
    assistant: str
    prompt: str


class StationRow(FileRow):
    """A ground station."""

    name: str
    call_sign: str


class PhaseRow(FileRow):
    """A phase of the mission."""

    name: str
    first_day: int
    last_day: int
    station: str


class MissionRow(BaseModel):
    """The mission's day, phase and people."""

    flight_day: int
    phase: str
    aboard: int
    control: str
    phases: tuple[PhaseRow, ...]
    stations: tuple[StationRow, ...]
