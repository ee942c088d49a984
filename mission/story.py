"""The story: texts before the first level, at the end of each level, and after the last."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from mission.game import Game, Outcome
from mission.games import BestTimes
from mission.levels import Level, all_levels
from mission.parts import FileRow
from mission.text import duration

STORY_FILE = Path(__file__).parent / "story.toml"


Paragraphs = Annotated[tuple[str, ...], BeforeValidator(lambda text: text.strip().splitlines())]


class Story(FileRow):
    """The paragraphs before the first level and after the last."""

    beginning: Paragraphs = Field(alias="prologue")
    end: Paragraphs = Field(alias="epilogue")


@cache
def the_story() -> Story:
    """Return the story of the mission; `story.toml` is read once."""
    return Story.model_validate(tomllib.loads(STORY_FILE.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a game: outcome, story, comparison with par, and the next level."""

    won: bool
    title: str
    reason: str  # why it was lost, "" if it was won
    story: tuple[str, ...]
    summary: str
    following: Level | None  # next by number, after the last the first not yet won; else None
    epilogue: tuple[str, ...] = ()  # empty until all levels are won


def ending(game: Game, best: BestTimes) -> Ending:
    """Return the ending of a game that is over; `best` has the levels won so far."""
    won, level, levels = game.outcome is Outcome.WON, game.level, list(all_levels().values())
    missing = [x for x in levels if x.id != level.id and x.id not in best]
    after = [x for x in levels if x.number == level.number + 1]
    return Ending(
        won=won,
        title="Crisis averted" if won else "Mission lost",
        reason=game.reason,
        story=tuple((level.story_won if won else level.story_lost).splitlines()),
        summary=_summary(game, won=won),
        following=next(iter(after or missing), None) if won else None,
        epilogue=the_story().end if won and not missing else (),
    )


def _summary(game: Game, *, won: bool) -> str:
    took, par = game.elapsed_seconds, game.level.par_seconds
    shown, hints = len(game.hints_given), len(game.level.hints)
    helped = f", {shown} of {hints} hints" if shown else ", no hints"
    if not won:
        return f"It lasted {duration(took)} of ship’s time{helped}."
    side = "under" if took < par else "over"
    versus = "at par" if took == par else f"{duration(abs(par - took))} {side} par"
    return f"It took {duration(took)} of ship’s time: {versus} ({duration(par)}){helped}."
