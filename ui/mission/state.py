"""The state of the mission in a session: the open level, and its game."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from athena.missions import mission_folder
from mission.game import Game
from mission.games import Games
from ui.shared import process
from ui.shared.state import kept, shared

ADDRESS = "level"  # of the page's address


@dataclass(slots=True)
class MissionState:
    """The open level ("" = the choice of levels)."""

    level: str = ""


def games() -> Games:
    """Return the saved games of this Athena."""
    return Games(mission_folder(process.athena().settings))


def game(level_id: str) -> Game:
    """Return the saved game of a level, or a new one; raises `MissionError` for a damaged one."""
    return games().load(level_id) or Game.start(level_id)


def level() -> str:
    """Return the open level: the one in the address first, so that a reload finds it again."""
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
