"""A saved game as JSON, with a version, in a file that is either old or new, never half written."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from mission.errors import SavedGameError
from mission.ship import Ship
from mission.state import ShipState, sound_state

SAVE_VERSION = 3


@dataclass(frozen=True, slots=True)
class Saved:
    """A game as it is written to a file."""

    version: int
    level: str
    seed: int
    state: ShipState
    outcome: Literal["running", "won", "lost"]
    held_min: float
    reason: str
    transcript: list[str]
    history: list[str]
    hints_given: list[int] = field(default_factory=list)  # their places among the level's


_SAVED = TypeAdapter(Saved)


def reason_of(error: ValidationError) -> str:
    """The first thing that is wrong with a file, in a line."""
    first = error.errors(include_url=False)[0]
    return ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))


def dump(saved: Saved) -> str:
    """A game as JSON."""
    return _SAVED.dump_json(saved).decode()


def parse_saved(text: str, ship: Ship) -> Saved:
    """The game of `dump`. Raises SavedGameError for damage, another version or another ship."""
    fix = "Start the level again."
    try:
        saved = _SAVED.validate_json(text)
    except ValidationError as error:
        raise SavedGameError(f"The saved game is damaged: {reason_of(error)}.", fix) from error
    if saved.version != SAVE_VERSION:
        raise SavedGameError(f"The saved game has version {saved.version}, not {SAVE_VERSION}.", fix)
    if not _fits(saved.state, ship):
        raise SavedGameError("The saved game is of another ship.", fix)
    return saved


def _fits(state: ShipState, ship: Ship) -> bool:
    """Whether the state and the ship name the same things."""
    sound = sound_state(ship, minute=state.minute)
    return (
        state.switches.keys() == sound.switches.keys()
        and state.cabin.keys() == sound.cabin.keys()
        and _keys(state.settings) == _keys(sound.settings)
        and all(state.quantities.get(part, {}).keys() >= own.keys() for part, own in sound.quantities.items())
        and state.quantities.keys() <= ship.parts.keys()
        and state.faults.keys() <= ship.parts.keys()
        and all(
            ship.settings_of(ident)[key].accept(value) is not None
            for ident, found in state.settings.items()
            for key, value in found.items()
        )
    )


def _keys(settings: dict[str, dict[str, str]]) -> dict[str, set[str]]:
    return {ident: set(found) for ident, found in settings.items()}


def write_atomically(path: Path, text: str) -> None:
    """Write beside the file and move the result into place; the folder is created.

    Raises `SavedGameError` where that is impossible.
    """
    try:
        _write(path, text)
    except OSError as error:
        raise SavedGameError(
            f"Cannot save '{path}': {error.strerror or error}.",
            "Free some space, make the folder writable, or name another data folder.",
        ) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
