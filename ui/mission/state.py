"""What the mission keeps in a session: which level is open, what was typed last, what is to be said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from athena.missions import mission_folder
from mission.errors import MissionError
from mission.forecast import minutes_left
from mission.game import Game
from ui.mission.games import Games
from ui.shared import state

LEVEL = "mission_level"
ACKNOWLEDGED = "mission_acknowledged"
ERROR = "mission_error"
FORECAST = "mission_forecast"
ADDRESS = "level"  # of the page's address


@dataclass(frozen=True, slots=True)
class Said:
    """Something that went wrong, and what to do."""

    problem: str
    fix: str = ""


def games() -> Games:
    """The saved games of this Athena."""
    return Games(mission_folder(state.athena().settings))


def level() -> str:
    """The open level; the address wins, so that a reload finds it again."""
    from_address = st.query_params.get(ADDRESS, "")
    if from_address:
        st.session_state[LEVEL] = from_address
    return str(st.session_state.get(LEVEL, ""))


def open_level(wanted: str) -> None:
    """Make a level the open one ("" = the choice of levels); what was said before goes."""
    st.session_state[LEVEL] = wanted
    st.session_state.pop(ERROR, None)
    state.show_evidence(None)
    if wanted:
        st.query_params[ADDRESS] = wanted
    else:
        st.query_params.clear()


def say(error: MissionError) -> None:
    """Keep what went wrong for the next drawing of the page."""
    st.session_state[ERROR] = said(error)


def said(error: MissionError) -> Said:
    """An error in a line: what checks found in a file is for the log."""
    problem = error.problem.splitlines()[0].rstrip(":")
    return Said(problem, error.fix)


def sent(key: str, name: str) -> dict[str, Any]:
    """What a component sent with a trigger."""
    value = (st.session_state.get(key) or {}).get(name)
    return dict(value) if value else {}


def forecast(game: Game) -> int | None:
    """The crew's time, reckoned once for each state of the ship."""
    now = hash(repr(game.state))
    kept = st.session_state.get(FORECAST)
    if not kept or kept[0] != now:
        kept = st.session_state[FORECAST] = (now, minutes_left(game))
    left: int | None = kept[1]
    return left
