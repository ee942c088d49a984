"""Levels: story, fault, and conditions of success and failure; each is a TOML file in `levels/`."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from mission.conditions import Condition, parse
from mission.errors import LevelError
from mission.schema import FileRow
from mission.ship import Ship, the_ship
from mission.state import CABIN, Fault, FaultKind, ShipState

LEVELS_FOLDER = Path(__file__).parent / "levels"
Amount = float | tuple[float, float]  # from a range, the seed picks one


class FaultRow(FileRow):
    """A part's fault."""

    kind: FaultKind
    hold: dict[str, float] = Field(default_factory=dict)
    key: str = ""
    value: str = ""
    rate: float = 0.0


class EventRow(FileRow):
    """What changes aboard at a moment; minutes before the player takes over are negative."""

    at_min: float
    switch: dict[str, Literal["on", "off"]] = Field(default_factory=dict)
    set: dict[str, dict[str, str]] = Field(default_factory=dict)
    quantity: dict[str, dict[str, Amount]] = Field(default_factory=dict)
    cabin: dict[str, Amount] = Field(default_factory=dict)
    fault: dict[str, FaultRow] = Field(default_factory=dict)
    warm: tuple[str, ...] = ()


class FailureRow(FileRow):
    """A condition that loses the level, and why."""

    when: str
    because: str


class LevelFile(FileRow):
    """A level's file."""

    id: str
    number: int
    title: str
    summary: str
    par_min: float
    start_at: str = Field(pattern=r"\d\d:\d\d")
    people: int = 1
    story: str
    story_won: str
    story_lost: str
    events: tuple[EventRow, ...]
    success: tuple[str, ...]
    hold_min: float
    failure: tuple[FailureRow, ...]
    hints: tuple[str, ...] = ()
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """A condition that loses the level, and why."""

    condition: Condition
    because: str


@dataclass(frozen=True, slots=True)
class Level:
    """A level that can be played: its file, with the conditions as functions of the ship's situation."""

    id: str
    number: int
    title: str
    summary: str
    par_seconds: int
    start_minute: float
    people: int
    story: str
    story_won: str
    story_lost: str
    events: tuple[EventRow, ...]
    success: tuple[Condition, ...]
    hold_min: float
    failures: tuple[Failure, ...]
    hints: tuple[str, ...]
    questions: tuple[str, ...]


def load_level(path: Path, ship: Ship) -> Level:
    """The level of a file. Raises LevelError where it is damaged or names what is not aboard."""
    try:
        row = LevelFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise LevelError(f"Cannot read the level '{path.name}': {error}", "Correct the file.") from error
    for event in row.events:
        _check_event(event, ship, path.name)
    hours, minutes = map(int, row.start_at.split(":"))
    return Level(
        id=row.id,
        number=row.number,
        title=row.title,
        summary=row.summary,
        par_seconds=round(row.par_min * 60),
        start_minute=hours * 60 + minutes,
        people=row.people,
        story=row.story.strip(),
        story_won=row.story_won.strip(),
        story_lost=row.story_lost.strip(),
        events=tuple(sorted(row.events, key=lambda event: event.at_min)),
        success=tuple(parse(text, ship) for text in row.success),
        hold_min=row.hold_min,
        failures=tuple(Failure(parse(f.when, ship), f.because) for f in row.failure),
        hints=row.hints,
        questions=row.questions,
    )


def _check_event(event: EventRow, ship: Ship, name: str) -> None:
    """Raise LevelError where an event names something that is not aboard."""
    wrong = [i for i in event.switch if i not in ship.ids]
    wrong += [p for p in (*event.fault, *event.warm) if p not in ship.parts]
    wrong += [key for key in event.cabin if key not in CABIN]
    for ident, settings in event.set.items():
        known = ship.settings_of(ident) if ident in ship.ids else {}
        wrong += [
            f"{ident} {k} {v}" for k, v in settings.items() if k not in known or known[k].accept(v) != v
        ]
    for part, quantities in event.quantity.items():
        known_keys = ship.telemetry_of(part)
        wrong += [f"{part} {key}" for key in quantities if key not in known_keys]
    if wrong:
        raise LevelError(f"'{name}' names what is not aboard: {', '.join(wrong)}.", "Correct the file.")


@cache
def all_levels() -> Mapping[str, Level]:
    """The levels that come with the package, by id, in the order of their numbers."""
    levels = [load_level(path, the_ship()) for path in sorted(LEVELS_FOLDER.glob("*.toml"))]
    return {level.id: level for level in sorted(levels, key=lambda level: level.number)}


def level_of(name: str) -> Level:
    """The level of an id or a number. Raises LevelError with the nearest id."""
    levels = all_levels()
    by_number = {str(level.number): level for level in levels.values()}
    found = levels.get(name.lower()) or by_number.get(name)
    if found is None:
        near = get_close_matches(name.lower(), levels, n=1)
        fix = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(levels)}."
        raise LevelError(f"There is no level '{name}'.", fix)
    return found


def drawn(amount: Amount, chance: random.Random) -> float:
    """The amount itself, or one picked from its range."""
    return chance.uniform(*amount) if isinstance(amount, tuple) else amount


def apply(event: EventRow, state: ShipState, chance: random.Random) -> None:
    """Change the state as an event says."""
    for ident, position in event.switch.items():
        state.switches[ident] = position == "on"
    for ident, settings in event.set.items():
        state.settings[ident].update(settings)
    for part, quantities in event.quantity.items():
        state.quantities[part].update({key: drawn(amount, chance) for key, amount in quantities.items()})
    state.cabin.update({key: drawn(amount, chance) for key, amount in event.cabin.items()})
    for part, row in event.fault.items():
        state.faults[part] = Fault(row.kind, dict(row.hold), row.key, row.value, row.rate)
        if row.kind in ("stuck", "impure"):
            state.quantities[part].update(row.hold)
    for part in event.warm:
        state.warmups[part] = 0.0
