"""A saved game as JSON, with a version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from mission.errors import SavedGameError
from mission.ship import Ship
from mission.state import State

SAVE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Saved:
    """A game as it is written to a file."""

    version: int
    level: str
    seed: int
    easy: bool
    state: State
    outcome: Literal["running", "won", "lost"]
    held_min: float
    hints_shown: int
    reason: str
    transcript: list[str]
    history: list[str]


_SAVED = TypeAdapter(Saved)


def dump(saved: Saved) -> str:
    """A game as JSON."""
    return _SAVED.dump_json(saved).decode()


def parse_saved(text: str, ship: Ship) -> Saved:
    """The game of `dump`. Raises SavedGameError for damage, another version or another ship."""
    fix = "Start the level again."
    try:
        saved = _SAVED.validate_json(text)
    except ValidationError as error:
        raise SavedGameError(f"The saved game is damaged: {error}", fix) from error
    if saved.version != SAVE_VERSION:
        raise SavedGameError(f"The saved game has version {saved.version}, not {SAVE_VERSION}.", fix)
    known = {ident: set(ship.settings_of(ident)) for ident in ship.ids if ship.settings_of(ident)}
    if {ident: set(found) for ident, found in saved.state.settings.items()} != known:
        raise SavedGameError("The saved game is of another ship.", fix)
    return saved
