"""The state of the ship, which changes during a game.

A command changes a copy of the `ShipState`. Passing time, the events of a level and the alarm log change it
in place.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from mission.parts import Part
from mission.ship import Ship

CABIN = {"PRESSURE": 70.0, "PPO2": 21.0, "PPCO2": 0.17, "TEMP": 22.0, "HUMIDITY": 48.0}  # kPa; °C; %

FaultKind = Literal["dead", "stuck", "worn", "drift", "impure", "spent", "leak"]


@dataclass(slots=True)
class Fault:
    """A part's fault.

    `hold` has the fixed values of a stuck or impure part, or the false readings of a drifting sensor. A spent
    part fails only while its setting `key` is `value`. `rate` is the loss by a leak, in kPa per hour.
    """

    kind: FaultKind
    hold: dict[str, float] = field(default_factory=dict)
    key: str = ""
    value: str = ""
    rate: float = 0.0


@dataclass(slots=True)
class LogEntry:
    """An alarm in the log: when it began (`minute`), and when it ended (`gone`, None while it is active)."""

    minute: float
    code: str
    subject: str  # a part, a controller or a slot
    text: str
    gone: float | None = None


@dataclass(slots=True)
class ShipState:
    """The state of the ship; minutes are ship's time since midnight of the flight day."""

    minute: float
    people: int
    switches: dict[str, bool]
    settings: dict[str, dict[str, str]]
    quantities: dict[str, dict[str, float]]  # part → key → value, without the cabin's
    cabin: dict[str, float]
    coolant_kpa: float
    warmups: dict[str, float]  # part → minutes left; parts without a warm-up are missing
    timers: dict[str, float] = field(default_factory=dict)  # part → minutes until its MODE ends
    faults: dict[str, Fault] = field(default_factory=dict)
    ice_min: float = 0.0  # minutes until the star tracker is free of ice
    tumbling_h: float = 0.0  # hours without attitude control
    dark_min: float = 0.0  # minutes without any main bus
    events: list[str] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    wrong_keys: dict[str, list[float]] = field(default_factory=dict)  # radio → minutes of refused keys
    shut_out_until: dict[str, float] = field(default_factory=dict)  # radio → minute
    inbox: dict[str, list[str]] = field(default_factory=dict)  # radio → messages, the newest last

    def copy(self) -> ShipState:
        """Return a deep copy of the state."""
        return deepcopy(self)

    def resolve(self, reference: str) -> str:
        """Return the id of the part in a CONTROLLER.SLOT; return a plain id unchanged."""
        if "." not in reference:
            return reference
        controller, slot = reference.split(".")
        return self.settings[controller][slot]

    def setting(self, ident: str, key: str) -> str:
        """Return the value of a setting of a part or a controller."""
        return self.settings[ident][key]

    def fault(self, part: str) -> FaultKind | None:
        """Return the kind of a part's fault, or None if it has none."""
        return self.faults[part].kind if part in self.faults else None


def sound_state(ship: Ship, *, minute: float) -> ShipState:
    """Return the state of a ship without faults, switched as in `ship.toml`, at a minute after midnight."""
    parts = ship.parts.values()
    return ShipState(
        minute=minute,
        people=ship.mission.aboard,
        switches={**dict.fromkeys(ship.controllers, True), **{p.id: p.switched_on for p in parts}},
        settings={
            ident: {key: str(_start(ship, ident, key, setting.default)) for key, setting in found.items()}
            for ident in ship.ids
            if (found := ship.settings_of(ident))
        },
        quantities={p.id: _quantities(p) for p in parts if p.telemetry},
        cabin=dict(CABIN),
        coolant_kpa=ship.parts["ECS-CLP-1"].telemetry["INLET_PRESSURE"].nominal,
        warmups={p.id: 0.0 if p.switched_on else p.warmup_min for p in parts if p.warmup_min},
    )


def _start(ship: Ship, ident: str, key: str, default: str) -> object:
    return ship.parts[ident].start.get(key, default) if ident in ship.parts else default


def _quantities(part: Part) -> dict[str, float]:
    return {own.key: float(part.start.get(own.key, own.nominal)) for own in part.own}


def clock(minute: float) -> str:
    """Format minutes since midnight as the time of day, `06:12`."""
    whole = int(minute + 1e-6)
    return f"{whole // 60 % 24:02d}:{whole % 60:02d}"
