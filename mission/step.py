"""One short step of time, with the values that the physics reads and writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from mission.ship import Ship, the_ship
from mission.state import ShipState
from mission.status import offline

FIXED = ("stuck", "impure")  # faults that fix a quantity, whatever the physics says


@dataclass(slots=True)
class TimeStep:
    """A step of `hours` on `state`, which it changes; `dark` are the ids that are OFFLINE."""

    ship: Ship
    state: ShipState
    hours: float
    dark: frozenset[str]

    def constant(self, name: str) -> float:
        """A constant of the ship's physics."""
        return self.ship.physics[name]

    def on(self, part: str) -> bool:
        """Whether a part runs at all."""
        return part not in self.dark

    def runs(self, part: str) -> bool:
        """Whether a part runs, is warm, and has all that it depends on."""
        needs = map(self.state.resolve, self.ship.parts[part].depends_on)
        return self.on(part) and not self.state.warmups.get(part) and all(map(self.on, needs))

    def chosen(self, reference: str) -> str:
        """The part in a slot."""
        return self.state.resolve(reference)

    def selected(self, part: str) -> bool:
        """Whether some controller uses the part."""
        return any(self.setting(c, slot) == part for c, slot in self.ship.slots_with[part])

    def setting(self, part: str, key: str) -> str:
        """The value of a setting."""
        return self.state.setting(part, key)

    def get(self, part: str, key: str) -> float:
        """A quantity of a part."""
        return self.state.quantities[part][key]

    def nominal(self, part: str, key: str) -> float:
        """The nominal value of a quantity."""
        return self.ship.parts[part].telemetry[key].nominal

    def put(self, part: str, key: str, value: float) -> None:
        """Write a quantity, unless a fault holds it."""
        fault = self.state.faults.get(part)
        held = fault.hold.get(key) if fault and fault.kind in FIXED and self.on(part) else None
        self.state.quantities[part][key] = value if held is None else held

    def move(self, part: str, key: str, target: float, rate: float) -> None:
        """Move a quantity towards a target, by at most `rate` per hour."""
        self.put(part, key, toward(self.get(part, key), target, rate * self.hours))

    def parts(self, *prefixes: str) -> Sequence[str]:
        """Ids of the parts that begin with one of the prefixes."""
        return _beginning_with(prefixes)

    def again(self) -> None:
        """Recompute what is OFFLINE, after a switch changed within the step."""
        self.dark = offline(self.ship, self.state)


@cache
def _beginning_with(prefixes: tuple[str, ...]) -> Sequence[str]:
    return tuple(part for part in the_ship().parts if part.startswith(prefixes))


def toward(value: float, target: float, most: float) -> float:
    """The value after moving towards the target by at most `most`."""
    return value + max(-most, min(most, target - value))


def heated(value: float, *, target: float, share: float, heating: float, tau_h: float, hours: float) -> float:
    """A temperature that is cooled to `target` by a share 0..1 of its cooling, and heated by the rest.

    The exact solution of dT/dt = heating (1 - share) - share (T - target) / tau, so that long steps agree
    with short ones.
    """
    if share <= 0:
        return value + heating * hours
    settled = target + heating * (1 - share) * tau_h / share
    return settled + (value - settled) * math.exp(-share * hours / tau_h)


def share_of(value: float, enough: float) -> float:
    """Return `value / enough`, limited to 0..1."""
    return max(0.0, min(1.0, value / enough))
