"""The games on disk: a saved game for each level, and the best times."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from mission.errors import MissionError
from mission.game import SHIP_CHECKSUM, Game, Outcome

BestTimes = Mapping[str, int]
"""Seconds of ship's time of the fastest win, by level id; levels that were never won are missing."""

T = TypeVar("T")
ANEW = "Start the level again."
_GAME = TypeAdapter(Game)
_BEST_TIMES = TypeAdapter(Mapping[str, NonNegativeInt])


@dataclass(frozen=True, slots=True)
class Games:
    """The saved games in a folder, which the web page and `athena mission` share."""

    folder: Path

    def load(self, level: str) -> Game | None:
        """Return a level's saved game, None if there is none. Raises MissionError for an unusable file."""
        path = self._path(level)
        if not path.exists():
            return None
        game = _read(path, _GAME, "saved game", fix=ANEW)
        if game.level_id != level:
            raise MissionError(f"The saved game '{path.name}' belongs to the level '{game.level_id}'.", ANEW)
        if game.ship_checksum != SHIP_CHECKSUM:
            raise MissionError(f"The saved game '{path.name}' belongs to another ship.", ANEW)
        return game

    def save(self, game: Game) -> None:
        """Save a game atomically, and its time if it is won. Raises MissionError if it cannot be written."""
        write_atomically(self._path(game.level_id), _GAME.dump_json(game))
        self.record_win(game)

    def record_win(self, game: Game) -> None:
        """Record the time of a won game if it is the level's first or fastest win. Raises MissionError."""
        if game.outcome is Outcome.WON:
            best, level = self.progress(), game.level_id
            best = {**best, level: min(game.elapsed_seconds, best.get(level, game.elapsed_seconds))}
            write_atomically(self._progress, _BEST_TIMES.dump_json(best, indent=1))

    def discard(self, level: str) -> None:
        """Delete a level's saved game, if any; its conversation with the assistant is kept."""
        self._path(level).unlink(missing_ok=True)

    def progress(self) -> BestTimes:
        """Return the best times, {} if there is no file. Raises MissionError for an unreadable file."""
        if not self._progress.exists():
            return {}
        return _read(self._progress, _BEST_TIMES, "best times", fix="Delete the file.")

    def _path(self, level: str) -> Path:
        return self.folder / f"{level}.json"

    @property
    def _progress(self) -> Path:
        return self.folder / "progress.json"


def _read(path: Path, adapter: TypeAdapter[T], what: str, *, fix: str) -> T:
    """Return the parsed content of a file. Raises MissionError if it is unreadable or damaged."""
    try:
        return adapter.validate_json(path.read_bytes())
    except OSError as error:
        raise MissionError(f"Cannot read the {what} '{path}': {error}.", fix) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise MissionError(f"Cannot read the {what} '{path}': {where}: {first['msg']}.", fix) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically, and create its folder. Raises MissionError if it cannot be written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise MissionError(
            f"Cannot save '{path}': {error.strerror or error}.",
            "Free some space, make the folder writable, or name another data folder.",
        ) from error
