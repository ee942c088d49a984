"""The games on disk: a saved game and its conversation for each level, and the best times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from mission.errors import SavedGameError
from mission.game import ANEW, Ask, Game, Outcome
from mission.text import write_atomically

BestTimes = Mapping[str, int]
"""Seconds of the best game, by level; levels that were never won are missing."""

_FILE = TypeAdapter(dict[str, NonNegativeInt])


@dataclass(frozen=True, slots=True)
class Games:
    """The saved games of a folder; the page and `athena mission` share it."""

    folder: Path

    def load(self, level: str, *, ask: Ask | None = None) -> Game | None:
        """Return the saved game of a level, None without one. Raises SavedGameError for a damaged one."""
        path = self._path(level)
        if not path.exists():
            return None
        game = Game.load(path, ask=ask)
        if game.level.id != level:
            raise SavedGameError(f"The saved game '{path.name}' is of the level '{game.level.id}'.", ANEW)
        return game

    def save(self, game: Game) -> None:
        """Save a game, and its time if it is won."""
        game.save(self._path(game.level.id))
        if game.outcome is Outcome.WON:
            record_win(self._progress, game.level.id, game.elapsed_seconds)

    def discard(self, level: str) -> None:
        """Delete a level's game; its conversation stays among the others."""
        self._path(level).unlink(missing_ok=True)
        self._conversation(level).unlink(missing_ok=True)

    def progress(self) -> BestTimes:
        """Return the best times. Raises SavedGameError for a damaged file."""
        return read_best_times(self._progress)

    def forget_progress(self) -> None:
        """Delete the best times."""
        self._progress.unlink(missing_ok=True)

    def conversation(self, level: str) -> str:
        """Return the id of the conversation of a level's game; "" before the first question."""
        path = self._conversation(level)
        return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""

    def keep_conversation(self, level: str, conversation: str) -> None:
        """Store which conversation belongs to a level's game."""
        write_atomically(self._conversation(level), conversation)

    def _path(self, level: str) -> Path:
        return self.folder / f"{level}.json"

    def _conversation(self, level: str) -> Path:
        return self.folder / f"{level}.conversation"

    @property
    def _progress(self) -> Path:
        return self.folder / "progress.json"


def read_best_times(path: Path) -> BestTimes:
    """Return the best times of a file, none without a file. Raises SavedGameError for a damaged one."""
    if not path.exists():
        return {}
    try:
        return _FILE.validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise SavedGameError(f"Cannot read the best times '{path}': {error}", "Delete the file.") from error


def record_win(path: Path, level: str, seconds: int) -> None:
    """Add a win to the best times of a file, if it is the first or the fastest."""
    before = read_best_times(path)
    best = {**before, level: min(seconds, before.get(level, seconds))}
    write_atomically(path, _FILE.dump_json(best, indent=1).decode())
