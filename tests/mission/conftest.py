"""The ship, its sound state, and small ways to put a part into a condition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mission.physics import STEP_MIN, pass_time
from mission.ship import Ship, the_ship
from mission.state import Fault, ShipState, sound_state
from mission.terminal import commands_of

SCRIPTS = Path(__file__).parent / "scripts"

Change = Callable[..., ShipState]


def script(level: str) -> list[str]:
    """The commands that win a level."""
    return commands_of((SCRIPTS / f"{level}.txt").read_text(encoding="utf-8").splitlines())


def advance(ship: Ship, state: ShipState, minutes: float, *, step: float = STEP_MIN) -> ShipState:
    """A copy of the state, some minutes later."""
    later = state.copy()
    pass_time(ship, later, minutes, step=step)
    return later


@pytest.fixture(scope="session")
def ship() -> Ship:
    return the_ship()


@pytest.fixture
def sound(ship: Ship) -> ShipState:
    return sound_state(ship, minute=480)


@pytest.fixture
def changed(ship: Ship, sound: ShipState) -> Change:
    """A sound ship with switches, settings, faults and cabin changed, some minutes later."""

    def change(
        *,
        minutes: float = 1,
        off: tuple[str, ...] = (),
        on: tuple[str, ...] = (),
        settings: dict[str, dict[str, str]] | None = None,
        faults: dict[str, Fault] | None = None,
        cabin: dict[str, float] | None = None,
        quantities: dict[str, dict[str, float]] | None = None,
        people: int = 1,
    ) -> ShipState:
        state = sound.copy()
        state.people = people
        state.switches.update(dict.fromkeys(off, False))
        state.switches.update(dict.fromkeys(on, True))
        for ident, values in (settings or {}).items():
            state.settings[ident].update(values)
        for part, values in (quantities or {}).items():
            state.quantities[part].update(values)
        state.faults.update(faults or {})
        state.cabin.update(cabin or {})
        return advance(ship, state, minutes)

    return change
