"""Conditions on the ship's state in plain words, as interlocks and levels write them.

GNC-CTRL is NOMINAL                     a status, of a part, a controller or a system
EPS-BUS-A is not OFFLINE
STO-LKR-1 LOCK is OPEN                  a setting
STO-LKR-1 CARTRIDGES is 1 or more       a quantity; "or less" likewise
CABIN PPCO2 is 0.70 or less             the cabin itself, whatever the sensors show
ELAPSED is 240 or more                  minutes since the player took over
IDLE is 2 or less                       number of backups that are powered and not selected
EVENT answered COM-SBT-1                an event that has happened
TYPED self-test EPS-BUS-A               the player has typed a line that begins like this
... and ...                             all of several conditions
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from mission.ship import Ship
from mission.state import CABIN, ShipState
from mission.status import Status, statuses

ALWAYS_ON = ("ECS-CAB-S2", "EPS-BUS-B")


@dataclass(frozen=True)
class Situation:
    """A state, the elapsed minutes, and the lines that the player has typed."""

    ship: Ship
    state: ShipState
    elapsed_min: float = 0.0
    typed: Sequence[str] = ()

    @cached_property
    def statuses(self) -> dict[str, Status]:
        """The status of every part and controller."""
        return statuses(self.ship, self.state)


Condition = Callable[[Situation], bool]


def parse(text: str, ship: Ship) -> Condition:
    """Parse a condition into a function that tests a `Situation`. Raises ValueError for any other text."""
    if " and " in text:
        both = [parse(one, ship) for one in text.split(" and ")]
        return lambda now: all(condition(now) for condition in both)
    words = text.split()
    match words:
        case ["EVENT", *_]:
            return lambda now: text.removeprefix("EVENT ") in now.state.events
        case ["TYPED", *line]:
            beginning = f"{' '.join(line)} ".lower()
            return lambda now: any(f"{' '.join(x.split())} ".lower().startswith(beginning) for x in now.typed)
        case ["ELAPSED", "is", number, *direction]:
            return _compared(text, lambda now: now.elapsed_min, number, direction)
        case ["IDLE", "is", number, *direction]:
            return _compared(
                text, lambda now: float(len(idle_backups(now.ship, now.state))), number, direction
            )
        case ["CABIN", key, "is", number, *direction] if key in CABIN:
            return _compared(text, lambda now: now.state.cabin[key], number, direction)
        case [ident, "is", "not", status] if status in Status.__members__:
            wanted = _with_status(ident, status, text, ship)
            return lambda now: not wanted(now)
        case [ident, "is", status] if status in Status.__members__:
            return _with_status(ident, status, text, ship)
        case [ident, key, "is", *rest] if ident in ship.ids:
            return _of_part(text, ship, ident, key, rest)
    raise _wrong(text)


def idle_backups(ship: Ship, state: ShipState) -> list[str]:
    """Return the ids of backups that are switched on and in no slot, without those of `ALWAYS_ON`."""
    powered = (p.id for p in ship.parts.values() if p.role == "backup" and state.switches[p.id])
    rests = set(powered) - set(ALWAYS_ON)
    return [
        p for p in ship.parts if p in rests and all(state.setting(*slot) != p for slot in ship.slots_with[p])
    ]


def _with_status(ident: str, status: str, text: str, ship: Ship) -> Condition:
    target = ship.systems[ident].controller if ident in ship.systems else ident
    if target not in ship.ids:
        raise _wrong(text)
    return lambda now: now.statuses[target] == status


def _of_part(text: str, ship: Ship, ident: str, key: str, rest: list[str]) -> Condition:
    settings, telemetry = ship.settings_of(ident), ship.telemetry_of(ident)
    if key in settings and len(rest) == 1 and settings[key].accept(rest[0]) is not None:
        value = settings[key].accept(rest[0])
        return lambda now: now.state.setting(ident, key) == value
    if key in telemetry and not telemetry[key].environment and len(rest) == 3:
        return _compared(text, lambda now: now.state.quantities[ident][key], rest[0], rest[1:])
    raise _wrong(text)


def _compared(text: str, value: Callable[[Situation], float], number: str, direction: list[str]) -> Condition:
    try:
        limit = float(number)
    except ValueError:
        raise _wrong(text) from None
    match direction:
        case ["or", "more"]:
            return lambda now: value(now) >= limit
        case ["or", "less"]:
            return lambda now: value(now) <= limit
    raise _wrong(text)


def _wrong(text: str) -> ValueError:
    return ValueError(f"'{text}' is not a condition: see the forms at the top of mission/conditions.py.")
