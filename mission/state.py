"""Everything that changes during a game.

`ShipState` is the only mutable thing in the simulator. Commands and events change a copy, or say that they
change the state itself.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from mission.parts import Part
from mission.ship import Ship

CABIN = {"PRESSURE": 70.0, "PPO2": 21.0, "PPCO2": 0.17, "TEMP": 22.0, "HUMIDITY": 48.0}

FaultKind = Literal["dead", "stuck", "worn", "drift", "impure", "spent", "leak"]


@dataclass(slots=True)
class Fault:
    """A part's fault.

    `hold` has the quantities that stay fixed (of a drifting sensor: its readings). A canister is spent once
    the setting `key` is `value`. `rate` is what a leak loses, in kPa per hour.
    """

    kind: FaultKind
    hold: dict[str, float] = field(default_factory=dict)
    key: str = ""
    value: str = ""
    rate: float = 0.0


@dataclass(slots=True)
class LogEntry:
    """An alarm that sounded: when, which, about what, and when it ended."""

    minute: float
    code: str
    subject: str
    text: str
    gone: float | None = None


@dataclass(slots=True)
class ShipState:
    """The state of the ship; minutes are ship's time since midnight of the flight day."""

    minute: float
    people: int
    switches: dict[str, bool]
    settings: dict[str, dict[str, str]]
    quantities: dict[str, dict[str, float]]
    cabin: dict[str, float]
    coolant_kpa: float
    warmups: dict[str, float]
    timers: dict[str, float] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    ice_min: float = 0.0
    tumbling_h: float = 0.0
    dark_min: float = 0.0  # without any main bus
    events: list[str] = field(default_factory=list)
    log: list[LogEntry] = field(default_factory=list)
    wrong_keys: dict[str, list[float]] = field(default_factory=dict)
    shut_out_until: dict[str, float] = field(default_factory=dict)
    inbox: dict[str, list[str]] = field(default_factory=dict)

    def copy(self) -> ShipState:
        """A copy that shares nothing with this state."""
        return deepcopy(self)

    def resolve(self, reference: str) -> str:
        """Return the part of an id or of a CONTROLLER.SLOT."""
        if "." not in reference:
            return reference
        controller, slot = reference.split(".")
        return self.settings[controller][slot]

    def setting(self, ident: str, key: str) -> str:
        """The value of a setting."""
        return self.settings[ident][key]

    def fault(self, part: str) -> FaultKind | None:
        """The kind of a part's fault, or None."""
        return self.faults[part].kind if part in self.faults else None


def sound_state(ship: Ship, *, minute: float) -> ShipState:
    """Return the ship without faults and with its backups off, at a minute of today."""
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
    """Ship's time of day, `06:12`."""
    whole = int(minute + 1e-6)
    return f"{whole // 60 % 24:02d}:{whole % 60:02d}"
