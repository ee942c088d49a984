"""The games on disk: for each level a saved game and its conversation, and the best times of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from mission.errors import SavedGameError
from mission.game import Ask, Game, Outcome
from mission.saves import write_atomically

ANEW = "Start the level again."


@dataclass(frozen=True, slots=True)
class Games:
    """The saved games of a folder, which `athena mission` uses, too."""

    folder: Path

    def load(self, level: str, *, ask: Ask | None = None) -> Game | None:
        """The saved game of a level, None without one. Raises SavedGameError where it cannot be played."""
        path = self._path(level)
        if not path.exists():
            return None
        game = Game.load(path, ask=ask)
        if game.level.id != level:
            raise SavedGameError(f"The saved game '{path.name}' is of the level '{game.level.id}'.", ANEW)
        return game

    def save(self, game: Game) -> None:
        """Save a game, and its time where it is won."""
        self.folder.mkdir(parents=True, exist_ok=True)
        game.save(self._path(game.level.id))
        if game.outcome is Outcome.WON:
            record_win(self._progress, game.level.id, game.elapsed_seconds)

    def discard(self, level: str) -> None:
        """Delete a level's game; its conversation stays among the others."""
        self._path(level).unlink(missing_ok=True)
        self._conversation(level).unlink(missing_ok=True)

    def progress(self) -> BestTimes:
        """Best times of the levels that were won. Raises SavedGameError for a damaged file."""
        return read_best_times(self._progress)

    def forget_progress(self) -> None:
        """Delete the best times."""
        self._progress.unlink(missing_ok=True)

    def conversation(self, level: str) -> str:
        """The id of the conversation of a level's game; "" before the first question."""
        path = self._conversation(level)
        return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""

    def keep_conversation(self, level: str, conversation: str) -> None:
        """Note which conversation belongs to a level's game."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._conversation(level), conversation)

    def _path(self, level: str) -> Path:
        return self.folder / f"{level}.json"

    def _conversation(self, level: str) -> Path:
        return self.folder / f"{level}.conversation"

    @property
    def _progress(self) -> Path:
        return self.folder / "progress.json"


@dataclass(frozen=True, slots=True)
class BestTimes:
    """Best times of the levels that were won."""

    best_seconds: Mapping[str, int] = field(default_factory=dict)

    def completed(self, level: str) -> bool:
        """Whether a level was won."""
        return level in self.best_seconds


_FILE = TypeAdapter(dict[str, NonNegativeInt])


def read_best_times(path: Path) -> BestTimes:
    """The best times of a file, none where there is no file. Raises SavedGameError for a damaged one."""
    if not path.exists():
        return BestTimes()
    try:
        return BestTimes(_FILE.validate_json(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        raise SavedGameError(f"Cannot read the best times '{path}': {error}", "Delete the file.") from error


def record_win(path: Path, level: str, seconds: int) -> BestTimes:
    """The best times after a win, which is kept where it is the better one."""
    before = read_best_times(path).best_seconds
    best = {**before, level: min(seconds, before.get(level, seconds))}
    write_atomically(path, _FILE.dump_json(best, indent=1).decode())
    return BestTimes(best)
