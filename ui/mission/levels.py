"""The saved games, the open level, and the choice of a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from athena.missions import mission_folder
from mission.errors import MissionError
from mission.game import Game, Outcome
from mission.games import BestTimes, Games
from mission.levels import Level, all_levels
from mission.story import the_story
from mission.text import duration
from ui.shared import messages, process
from ui.shared.state import kept, shared
from ui.shared.words import plain

INTRODUCTION = (
    "You are alone aboard and do not know this ship. You have a console, and an assistant that has read "
    "the manuals. Ship’s time passes only while a command takes time."
)
ADDRESS = "level"  # the query parameter of the page's address


@dataclass(slots=True)
class MissionState:
    """The id of the open level ("" = the choice of levels)."""

    level: str = ""


def saved_games() -> Games:
    """Return the saved games of this Athena."""
    return Games(mission_folder(process.athena().settings))


def game_of(level_id: str) -> Game:
    """Return the saved game of a level, or a new one; raises `MissionError` for a damaged one."""
    return saved_games().load(level_id) or Game.start(level_id)


def opened_level() -> str:
    """Return the id of the open level: from the address, else the last one; "" = the choice of levels."""
    from_address = st.query_params.get(ADDRESS, "")
    if from_address:
        kept(MissionState).level = from_address
    return kept(MissionState).level


def open_level(wanted: str) -> None:
    """Open a level ("" = the choice of levels), and close the evidence pane."""
    kept(MissionState).level = wanted
    shared().evidence = None
    if wanted:
        st.query_params[ADDRESS] = wanted
    else:
        st.query_params.clear()


def choice() -> None:
    """Draw all levels as cards."""
    with st.container(key="page"):
        st.header("Mission", anchor=False)
        st.text(INTRODUCTION)
        with st.expander("Before the landing: how it began"):
            for paragraph in the_story().beginning:
                st.text(paragraph)
        won = saved_games().progress()
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
                  on_click=open_level, args=(level.id,))  # fmt: skip


def _action(level: Level) -> tuple[str, Literal["primary", "secondary"]]:
    """Return the label of a card's button, and its kind."""
    try:
        game = saved_games().load(level.id)
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
    games = saved_games()
    games.discard(level)
    games.save(Game.start(level))
    open_level(level)
