"""Which levels were won, and the best time of each in ship's seconds: one small JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from mission.errors import SavedGameError
from mission.files import write_atomically


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
