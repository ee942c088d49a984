"""Levels: story, fault, and conditions of success and failure; each is a TOML file in `levels/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
)

from mission.conditions import Condition, parse
from mission.errors import LevelError
from mission.parts import FileRow
from mission.ship import Ship, the_ship
from mission.state import CABIN, Fault, FaultKind, ShipState

LEVELS_FOLDER = Path(__file__).parent / "levels"


class FaultRow(FileRow):
    """A part's fault."""

    kind: FaultKind
    hold: dict[str, float] = Field(default_factory=dict)
    key: str = ""
    value: str = ""
    rate: float = 0.0


class EventRow(FileRow):
    """A change aboard at a time; minutes before the player takes over are negative."""

    at_min: float
    switch: dict[str, Literal["on", "off"]] = Field(default_factory=dict)
    set: dict[str, dict[str, str]] = Field(default_factory=dict)
    quantity: dict[str, dict[str, float]] = Field(default_factory=dict)
    cabin: dict[str, float] = Field(default_factory=dict)
    fault: dict[str, FaultRow] = Field(default_factory=dict)
    warm: tuple[str, ...] = ()


def _parsed(words: str, info: ValidationInfo) -> Condition:
    return parse(words, cast("Ship", info.context))


def _in_order(events: tuple[EventRow, ...]) -> tuple[EventRow, ...]:
    return tuple(sorted(events, key=lambda event: event.at_min))


Parsed = Annotated[Condition, BeforeValidator(_parsed)]
Story = Annotated[str, StringConstraints(strip_whitespace=True)]


class Failure(FileRow):
    """A condition that loses the level, and why."""

    when: Parsed
    because: str


class Goal(FileRow):
    """A condition that no status or alarm shows, and the text while it is open."""

    when: Parsed
    open: str


class Hint(FileRow):
    """A hint, and the conditions of which each alone makes it needless."""

    text: str
    done: tuple[Parsed, ...] = ()


class Level(FileRow):
    """A level that can be played."""

    id: str
    number: int
    title: str
    summary: str
    par_min: float
    start_at: str = Field(pattern=r"\d\d:\d\d")
    people: int = 1
    story: Story
    story_won: Story
    story_lost: Story
    events: Annotated[tuple[EventRow, ...], AfterValidator(_in_order)]
    success: tuple[Parsed, ...]
    goals: tuple[Goal, ...] = Field(default=(), alias="goal")
    hold_min: float
    failures: tuple[Failure, ...] = Field(alias="failure")
    hints: tuple[Hint, ...] = ()
    questions: tuple[str, ...]

    @property
    def par_seconds(self) -> int:
        """Ship's seconds that a good player takes."""
        return round(self.par_min * 60)

    @property
    def start_minute(self) -> float:
        """Ship's minute of the day in which the player takes over."""
        hours, minutes = map(int, self.start_at.split(":"))
        return hours * 60 + minutes


def load_level(path: Path, ship: Ship) -> Level:
    """Return the level of a file. Raises LevelError for a damaged file or an unknown name."""
    try:
        level = Level.model_validate(tomllib.loads(path.read_text(encoding="utf-8")), context=ship)
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise LevelError(f"Cannot read the level '{path.name}': {error}", "Correct the file.") from error
    for event in level.events:
        _check_event(event, ship, path.name)
    return level


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
    """Return a level by id or number. Raises LevelError with the nearest id."""
    levels = all_levels()
    by_number = {str(level.number): level for level in levels.values()}
    found = levels.get(name.lower()) or by_number.get(name)
    if found is None:
        near = get_close_matches(name.lower(), levels, n=1)
        fix = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(levels)}."
        raise LevelError(f"There is no level '{name}'.", fix)
    return found


def apply(event: EventRow, state: ShipState) -> None:
    """Apply an event to the state."""
    for ident, position in event.switch.items():
        state.switches[ident] = position == "on"
    for ident, settings in event.set.items():
        state.settings[ident].update(settings)
    for part, quantities in event.quantity.items():
        state.quantities[part].update(quantities)
    state.cabin.update(event.cabin)
    for part, row in event.fault.items():
        state.faults[part] = Fault(row.kind, dict(row.hold), row.key, row.value, row.rate)
        if row.kind in ("stuck", "impure"):
            state.quantities[part].update(row.hold)
    for part in event.warm:
        state.warmups[part] = 0.0
