"""The story before the first level, at the end of each, and after the last."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from mission.errors import LevelError
from mission.game import Game, Outcome
from mission.games import BestTimes
from mission.levels import Level, all_levels
from mission.parts import FileRow
from mission.text import duration

STORY_FILE = Path(__file__).parent / "story.toml"


class Story(FileRow):
    """Prologue and epilogue, a line a paragraph."""

    prologue: str
    epilogue: str

    @property
    def beginning(self) -> list[str]:
        """The paragraphs before the first level."""
        return self.prologue.strip().splitlines()

    @property
    def end(self) -> list[str]:
        """The paragraphs after the last level."""
        return self.epilogue.strip().splitlines()


@cache
def the_story() -> Story:
    """The story of the mission. Raises LevelError where its file cannot be read."""
    try:
        return Story.model_validate(tomllib.loads(STORY_FILE.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise LevelError(
            f"Cannot read the story '{STORY_FILE.name}': {error}", "Restore or correct the file."
        ) from error


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a game: outcome, story, comparison with par, and the next level."""

    won: bool
    title: str
    reason: str  # why it was lost
    story: tuple[str, ...]
    summary: str
    following: Level | None  # after a win, the level with the next number; after the last, the first missing
    epilogue: tuple[str, ...] = ()  # once all levels are won, or which of them are missing


def ending(game: Game, best: BestTimes) -> Ending:
    """Return the ending of a game that is over; `best` are the levels won so far."""
    won, level, levels = game.outcome is Outcome.WON, game.level, list(all_levels().values())
    missing = [x for x in levels if x.id != level.id and x.id not in best] if won else []
    after = [x for x in levels if won and x.number == level.number + 1]
    return Ending(
        won=won,
        title="Crisis averted" if won else "Mission lost",
        reason=game.reason,
        story=tuple((level.story_won if won else level.story_lost).splitlines()),
        summary=_summary(game, won=won),
        following=next(iter(after or missing), None),
        epilogue=_epilogue(missing, is_last=not after) if won else (),
    )


def _epilogue(missing: Sequence[Level], *, is_last: bool) -> tuple[str, ...]:
    """Return the epilogue once all levels are won; before that, the last level names the missing ones."""
    if not missing:
        return tuple(the_story().end)
    named = ", ".join(f"{level.number}. {level.title}" for level in missing)
    return (f"The end of the story is told when these are won, too: {named}.",) if is_last else ()


def _summary(game: Game, *, won: bool) -> str:
    took, par = game.elapsed_seconds, game.level.par_seconds
    shown, hints = len(game.hints_given), len(game.level.hints)
    helped = f", {shown} of {hints} hints" if shown else ", no hints"
    if not won:
        return f"It lasted {duration(took)} of ship’s time{helped}."
    side = "under" if took < par else "over"
    versus = "at par" if took == par else f"{duration(abs(par - took))} {side} par"
    return f"It took {duration(took)} of ship’s time: {versus} ({duration(par)}){helped}."
