"""The ship, its sound state, and small ways to put a part into a condition."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mission.physics import advance
from mission.ship import Ship, the_ship
from mission.state import Fault, ShipState, sound_state

Change = Callable[..., ShipState]


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
        step: float = 1.0,
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
        return advance(ship, state, minutes, step=step)

    return change
