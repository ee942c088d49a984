"""Levels: story, fault, and conditions of success and failure; each is a TOML file in `levels/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from difflib import get_close_matches
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from mission.conditions import Condition, parse
from mission.errors import MissionError
from mission.parts import FileRow
from mission.ship import Ship, the_ship
from mission.state import Fault, ShipState

LEVELS_FOLDER = Path(__file__).parent / "levels"


class EventRow(FileRow):
    """Changes of the ship's state, `at_min` minutes after the player takes over; negative: before."""

    at_min: float
    switch: dict[str, Literal["on", "off"]] = Field(default_factory=dict)
    set: dict[str, dict[str, str]] = Field(default_factory=dict)
    quantity: dict[str, dict[str, float]] = Field(default_factory=dict)
    cabin: dict[str, float] = Field(default_factory=dict)
    fault: dict[str, Fault] = Field(default_factory=dict)
    warm: tuple[str, ...] = ()  # parts whose warm-up is over


_minute = attrgetter("at_min")
Parsed = Annotated[Condition, BeforeValidator(lambda words, info: parse(words, cast("Ship", info.context)))]
Story = Annotated[str, StringConstraints(strip_whitespace=True)]


class Failure(FileRow):
    """A condition that loses the level, and the reason to show."""

    when: Parsed
    because: str


class Goal(FileRow):
    """A condition of success that no status or alarm shows, and the text to show until it is met."""

    when: Parsed
    open: str


class Hint(FileRow):
    """A hint, which is skipped if any one of the conditions in `done` is met."""

    text: str
    done: tuple[Parsed, ...] = ()


class Level(FileRow):
    """A level of the game, as its TOML file describes it."""

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
    events: Annotated[tuple[EventRow, ...], AfterValidator(lambda rows: (*sorted(rows, key=_minute),))]
    success: tuple[Parsed, ...]
    goals: tuple[Goal, ...] = Field(default=(), alias="goal")
    hold_min: float  # minutes for which success must last
    failures: tuple[Failure, ...] = Field(alias="failure")
    hints: tuple[Hint, ...] = ()
    questions: tuple[str, ...]  # for the assistant; used by tests

    @property
    def par_seconds(self) -> int:
        """The seconds of ship's time that a good player takes."""
        return round(self.par_min * 60)

    @property
    def start_minute(self) -> float:
        """The minute after midnight at which the player takes over."""
        hours, minutes = map(int, self.start_at.split(":"))
        return hours * 60 + minutes


@cache
def all_levels() -> Mapping[str, Level]:
    """Return the levels that come with the package, by id, in the order of their numbers."""
    files = (tomllib.loads(path.read_text(encoding="utf-8")) for path in LEVELS_FOLDER.glob("*.toml"))
    levels = [Level.model_validate(rows, context=the_ship()) for rows in files]
    return {level.id: level for level in sorted(levels, key=lambda level: level.number)}


def level_of(name: str) -> Level:
    """Return the level with an id or number. Raises MissionError, with the nearest id, if there is none."""
    levels = all_levels()
    by_number = {str(level.number): level for level in levels.values()}
    found = levels.get(name.lower()) or by_number.get(name)
    if found is None:
        near = get_close_matches(name.lower(), levels, n=1)
        fix = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(levels)}."
        raise MissionError(f"There is no level '{name}'.", fix)
    return found


def apply(event: EventRow, state: ShipState) -> None:
    """Make the changes of an event in the state, in place."""
    for ident, position in event.switch.items():
        state.switches[ident] = position == "on"
    for ident, settings in event.set.items():
        state.settings[ident].update(settings)
    for part, quantities in event.quantity.items():
        state.quantities[part].update(quantities)
    state.cabin.update(event.cabin)
    for part, fault in event.fault.items():
        state.faults[part] = deepcopy(fault)
        if fault.kind in ("stuck", "impure"):
            state.quantities[part].update(fault.hold)
    for part in event.warm:
        state.warmups[part] = 0.0
