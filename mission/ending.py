"""How a game ended, in the words that every surface shows."""

from __future__ import annotations

from dataclasses import dataclass

from mission.game import Game, Outcome
from mission.levels import Level, all_levels
from mission.story import the_story
from mission.text import duration


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
