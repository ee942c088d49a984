"""The passing of time: pressures, temperatures, carbon dioxide, charge and propellant, in short steps.

Slow changes are computed exactly over a step, so that long steps agree with short ones. A step ends early
when a warm-up or a timed MODE such as BAKE ends.
"""

from __future__ import annotations

from collections.abc import Callable

from mission import air, fittings, heat, power
from mission.ship import Ship
from mission.state import ShipState
from mission.status import offline
from mission.step import TimeStep

STEP_MIN = 1.0
MOMENT = 1e-6  # minutes; a remaining time no longer than this counts as 0
PURGE_MIN, ALIGN_MIN = 10.0, 15.0
STARS_TO_ALIGN = 4

STAGES: tuple[Callable[[TimeStep], None], ...] = (
    power.supply,
    power.cryogenic_tanks,
    air.fans,
    fittings.water,
    heat.pumps,
    heat.panels,
    heat.coolant,
    heat.exchangers,
    heat.cabin,
    heat.computers,
    heat.stacks,
    air.regulators,
    air.beds,
    air.carbon_dioxide,
    air.mixture,
    air.damp,
    air.smoke,
    fittings.guidance,
    fittings.propulsion,
    fittings.radio,
    fittings.memory,
    fittings.storage,
)


def pass_time(ship: Ship, state: ShipState, minutes: float, *, step: float = STEP_MIN) -> None:
    """Advance `state` in place by `minutes` of ship's time, in steps of at most `step` minutes."""
    left = minutes
    while left > MOMENT:
        dark = offline(ship, state)
        _start_timers(ship, state, dark)
        span = min([step, left, *_moments(state, dark)])
        _step(TimeStep(ship, state, span / 60, dark), span)
        left -= span


def _step(now: TimeStep, minutes: float) -> None:
    for stage in STAGES:
        stage(now)
    now.state.minute = round(now.state.minute + minutes, 6)
    _warm_up(now, minutes)
    _run_timers(now, minutes)


def _start_timers(ship: Ship, state: ShipState, dark: frozenset[str]) -> None:
    """Start a timer for each powered, warm part in MODE BAKE, PURGE or ALIGN; delete all other timers."""
    lengths = {"BAKE": ship.physics["bed_bake"], "PURGE": PURGE_MIN, "ALIGN": ALIGN_MIN}
    for part, settings in state.settings.items():
        length = lengths.get(settings.get("MODE", ""))
        if length is None or part in dark or state.warmups.get(part):
            state.timers.pop(part, None)
        else:
            state.timers.setdefault(part, length)


def _moments(state: ShipState, dark: frozenset[str]) -> list[float]:
    """Return the minutes that are left of each running warm-up and timer."""
    warming = [left for part, left in state.warmups.items() if left > 0 and part not in dark]
    return [*warming, *state.timers.values()]


def _warm_up(s: TimeStep, minutes: float) -> None:
    for part, left in s.state.warmups.items():
        cold = s.ship.parts[part].warmup_min
        after = left - minutes if s.on(part) else cold
        s.state.warmups[part] = after if after > MOMENT else 0.0


def _run_timers(s: TimeStep, minutes: float) -> None:
    for part, left in list(s.state.timers.items()):
        s.state.timers[part] = left - minutes
        if s.state.timers[part] <= MOMENT:
            del s.state.timers[part]
            _finish(s, part)


def _finish(s: TimeStep, part: str) -> None:
    """Apply the result of a part's timed MODE, and switch the part to its next MODE."""
    settings = s.state.settings[part]
    match settings["MODE"]:
        case "BAKE":
            settings["MODE"] = "CYCLE"
            if settings["VENT"] == "OPEN":
                s.put(part, "SATURATION", 10.0)
        case "PURGE":
            settings["MODE"] = "RUN"
            if s.state.fault(part) == "impure":
                del s.state.faults[part]
        case _:
            settings["MODE"] = "OPERATE"
            if s.on("GNC-STR-1") and s.get("GNC-STR-1", "STARS") >= STARS_TO_ALIGN:
                s.put(part, "ATT_ERROR", s.nominal(part, "ATT_ERROR"))
