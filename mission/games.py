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
"""Seconds of the best game, by level; levels that were never won are missing."""

T = TypeVar("T")
ANEW = "Start the level again."
_GAME = TypeAdapter(Game)
_BEST_TIMES = TypeAdapter(Mapping[str, NonNegativeInt])


@dataclass(frozen=True, slots=True)
class Games:
    """The saved games of a folder; the page and `athena mission` share it."""

    folder: Path

    def load(self, level: str) -> Game | None:
        """Return the saved game of a level, None without one. Raises MissionError for an unusable file."""
        path = self._path(level)
        if not path.exists():
            return None
        game = _read(path, _GAME, "saved game", fix=ANEW)
        if game.level_id != level:
            raise MissionError(f"The saved game '{path.name}' is of the level '{game.level_id}'.", ANEW)
        if game.ship_checksum != SHIP_CHECKSUM:
            raise MissionError(f"The saved game '{path.name}' is of another ship.", ANEW)
        return game

    def save(self, game: Game) -> None:
        """Save a game, and its time if it is won; a crash leaves the old file or the new one."""
        write_atomically(self._path(game.level_id), _GAME.dump_json(game))
        self.record_win(game)

    def record_win(self, game: Game) -> None:
        """Add a won game to the best times, if it is the first of its level or the fastest."""
        if game.outcome is Outcome.WON:
            best, level = self.progress(), game.level_id
            best = {**best, level: min(game.elapsed_seconds, best.get(level, game.elapsed_seconds))}
            write_atomically(self._progress, _BEST_TIMES.dump_json(best, indent=1))

    def discard(self, level: str) -> None:
        """Delete a level's game; its conversation stays among the others."""
        self._path(level).unlink(missing_ok=True)

    def progress(self) -> BestTimes:
        """Return the best times, none without a file. Raises MissionError for a damaged file."""
        if not self._progress.exists():
            return {}
        return _read(self._progress, _BEST_TIMES, "best times", fix="Delete the file.")

    def _path(self, level: str) -> Path:
        return self.folder / f"{level}.json"

    @property
    def _progress(self) -> Path:
        return self.folder / "progress.json"


def _read(path: Path, adapter: TypeAdapter[T], what: str, *, fix: str) -> T:
    """Return the content of a file. Raises MissionError for a damaged file."""
    try:
        return adapter.validate_json(path.read_bytes())
    except OSError as error:
        raise MissionError(f"Cannot read the {what} '{path}': {error}.", fix) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise MissionError(f"Cannot read the {what} '{path}': {where}: {first['msg']}.", fix) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, and create its folder; raise MissionError."""
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
