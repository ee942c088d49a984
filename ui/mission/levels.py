"""The choice of a level."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from mission.errors import MissionError
from mission.game import Game, Outcome
from mission.games import BestTimes
from mission.levels import Level, all_levels
from mission.story import the_story
from mission.text import duration
from ui.mission import state as mission_state
from ui.shared import messages
from ui.shared.words import plain

INTRODUCTION = (
    "You are alone aboard and do not know this ship. You have a console, and an assistant that has read "
    "the manuals. Ship’s time passes only while a command takes time."
)


def choice() -> None:
    """Draw all levels as cards."""
    with st.container(key="page"):
        st.header("Mission", anchor=False)
        st.text(INTRODUCTION)
        with st.expander("Before the landing: how it began"):
            for paragraph in the_story().beginning:
                st.text(paragraph)
        won = mission_state.games().progress()
        with st.container(key="levels"):
            for level in all_levels().values():
                _card(level, won)


def _card(level: Level, won: BestTimes) -> None:
    with st.container(border=True, key=f"level-{level.id}"):
        st.caption(f"Level {level.number} · par {duration(level.par_seconds)}")
        st.subheader(plain(level.title), anchor=False)
        st.text(level.summary)
        best = won.get(level.id)
        if best is not None:
            st.caption(f":material/check_circle: Averted, best time {duration(best)}")
        label, kind = _action(level)
        st.button(label, key=f"choose-{level.id}", type=kind, width="stretch",
                  on_click=mission_state.open_level, args=(level.id,))  # fmt: skip


def _action(level: Level) -> tuple[str, Literal["primary", "secondary"]]:
    """Return the label of a card's button, and its kind."""
    try:
        game = mission_state.games().load(level.id)
    except MissionError:
        return "The saved game cannot be read …", "secondary"
    if game is None:
        return "Begin", "secondary"
    if game.outcome is Outcome.RUNNING:
        return f"Continue at {game.clock}", "primary"
    return "See how it ended", "secondary"


@messages.noticed
def begin(level: str) -> None:
    """Begin a level from the start, in place of its saved game."""
    games = mission_state.games()
    games.discard(level)
    games.save(Game.start(level))
    mission_state.open_level(level)
