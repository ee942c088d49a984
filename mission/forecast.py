"""How long the crew has if nobody does anything: the physics run ahead on a copy of the ship."""

from __future__ import annotations

from dataclasses import replace

from mission.game import Game, Outcome

HORIZON_MIN = 720
STEP_MIN = 10


def minutes_left(game: Game) -> int | None:
    """Ship's minutes until the mission is lost if nobody acts, in tens; None beyond twelve hours.

    Events that the level still has in store are not foreseen.
    """
    if game.outcome is not Outcome.RUNNING:
        return None
    ahead = replace(game, state=game.state.copy(), level=game.level.model_copy(update={"events": ()}))
    for minute in range(STEP_MIN, HORIZON_MIN + STEP_MIN, STEP_MIN):
        if ahead.drift(STEP_MIN) is Outcome.LOST:
            return minute
    return None
