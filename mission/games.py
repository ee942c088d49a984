"""The games on disk: for each level a saved game and its conversation, and the best times of all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mission.best_times import BestTimes, read_best_times, record_win
from mission.errors import SavedGameError
from mission.files import write_atomically
from mission.game import Ask, Game, Outcome

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
