"""One short time step: how the physics reads and writes the ship's state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mission.ship import Ship, the_ship
from mission.state import ShipState
from mission.status import offline

FIXED = ("stuck", "impure")  # faults that keep the quantities in `Fault.hold` at their values


@dataclass(slots=True)
class TimeStep:
    """A step of `hours` that changes `state` in place; `dark` are the OFFLINE parts and controllers."""

    ship: Ship
    state: ShipState
    hours: float
    dark: frozenset[str]

    def constant(self, name: str) -> float:
        """Return a constant from the physics of `ship.toml`."""
        return self.ship.physics[name]

    def on(self, part: str) -> bool:
        """Whether a part or controller is not OFFLINE."""
        return part not in self.dark

    def runs(self, part: str) -> bool:
        """Whether a part is not OFFLINE, is warm, and depends on no OFFLINE part."""
        needs = map(self.state.resolve, self.ship.parts[part].depends_on)
        return self.on(part) and not self.state.warmups.get(part) and all(map(self.on, needs))

    def chosen(self, reference: str) -> str:
        """Return the part that is selected in a CONTROLLER.SLOT."""
        return self.state.resolve(reference)

    def selected(self, part: str) -> bool:
        """Whether the part is selected in any slot."""
        return any(self.setting(c, slot) == part for c, slot in self.ship.slots_with[part])

    def setting(self, part: str, key: str) -> str:
        """Return the value of a setting."""
        return self.state.setting(part, key)

    def get(self, part: str, key: str) -> float:
        """Return the value of a part's own quantity."""
        return self.state.quantities[part][key]

    def nominal(self, part: str, key: str) -> float:
        """Return the nominal value of a quantity."""
        return self.ship.parts[part].telemetry[key].nominal

    def put(self, part: str, key: str, value: float) -> None:
        """Set a quantity to a value, or to the value at which a fault holds it."""
        fault = self.state.faults.get(part)
        held = fault.hold.get(key) if fault and fault.kind in FIXED and self.on(part) else None
        self.state.quantities[part][key] = value if held is None else held

    def move(self, part: str, key: str, target: float, rate: float) -> None:
        """Move a quantity towards a target, by at most `rate` per hour."""
        self.put(part, key, toward(self.get(part, key), target, rate * self.hours))

    def parts(self, *prefixes: str) -> Sequence[str]:
        """Return the part ids that begin with one of the prefixes, in the order of `ship.toml`."""
        return _beginning_with(prefixes)

    def again(self) -> None:
        """Recompute `dark` after a switch or breaker has changed within the step."""
        self.dark = offline(self.ship, self.state)


@cache
def _beginning_with(prefixes: tuple[str, ...]) -> Sequence[str]:
    return tuple(part for part in the_ship().parts if part.startswith(prefixes))


def toward(value: float, target: float, most: float) -> float:
    """Return the value, moved towards the target by at most `most`."""
    return value + max(-most, min(most, target - value))


def heated(value: float, *, target: float, share: float, heating: float, tau_h: float, hours: float) -> float:
    """Return a temperature after `hours` with a share (0..1) of its full cooling towards `target`.

    Without cooling it rises by `heating` per hour. This is the exact solution of
    dT/dt = heating (1 - share) - share (T - target) / tau, so that long steps agree with short ones.
    """
    if share <= 0:
        return value + heating * hours
    settled = target + heating * (1 - share) * tau_h / share
    return settled + (value - settled) * math.exp(-share * hours / tau_h)


def share_of(value: float, enough: float) -> float:
    """Return `value / enough`, limited to 0..1."""
    return max(0.0, min(1.0, value / enough))
