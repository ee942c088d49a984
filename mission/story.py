"""What is told before the first level, at the end of one, and after the last."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from mission.errors import LevelError
from mission.game import Game, Outcome
from mission.levels import Level, all_levels
from mission.schema import FileRow
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
    """A game that is over: what happened, how it compares, and what to play next."""

    won: bool
    title: str
    reason: str  # why it was lost
    story: tuple[str, ...]
    summary: str
    following: Level | None  # after a win, the level with the next number
    epilogue: tuple[str, ...] = ()  # after the last level


def ending(game: Game) -> Ending:
    """The ending of a game; its outcome must not be `RUNNING`."""
    won, level = game.outcome is Outcome.WON, game.level
    following = next((x for x in all_levels().values() if won and x.number == level.number + 1), None)
    return Ending(
        won=won,
        title="Crisis averted" if won else "Mission lost",
        reason=game.reason,
        story=tuple((level.story_won if won else level.story_lost).splitlines()),
        summary=_summary(game, won=won),
        following=following,
        epilogue=tuple(the_story().end) if won and following is None else (),
    )


def _summary(game: Game, *, won: bool) -> str:
    took, par = game.elapsed_seconds, game.level.par_seconds
    shown, hints = len(game.hints_given), len(game.level.hints)
    helped = f", {shown} of {hints} hints" if shown else ", no hints"
    if game.undone:
        helped += f", {game.undone} {'step' if game.undone == 1 else 'steps'} taken back"
    if not won:
        return f"It lasted {duration(took)} of ship’s time{helped}."
    side = "under" if took < par else "over"
    versus = "at par" if took == par else f"{duration(abs(par - took))} {side} par"
    return f"It took {duration(took)} of ship’s time: {versus} ({duration(par)}){helped}."
