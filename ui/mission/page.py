"""The mission: choose a level, read its story, play it; a game that cannot be played says why."""

from __future__ import annotations

import logging

import streamlit as st

from athena.missions import has_mission
from mission.errors import MissionError
from mission.levels import Level, level_of
from ui.mission import state as mission_state
from ui.mission.levels import briefing, choice
from ui.mission.play import play
from ui.shared import messages, process

log = logging.getLogger(__name__)


def page() -> None:
    """Draw the page."""
    st.set_page_config(initial_sidebar_state="collapsed")
    if not has_mission(process.settings()):
        st.info("The mission is played with the manuals that come with Athena.")
        return
    try:
        _page()
    except MissionError as error:
        log.warning("the mission cannot be shown: %s", error)
        messages.show_error(mission_state.in_one_line(error), error.fix)
        st.button("All levels", on_click=mission_state.open_level, args=("",), key="mission-leave-error")


def _page() -> None:
    wanted = mission_state.level()
    if not wanted:
        choice()
        return
    level = level_of(wanted)
    st.query_params[mission_state.ADDRESS] = level.id
    try:
        game = mission_state.games().load(level.id)
    except MissionError as error:
        _broken(level, error)
        return
    if game is None:
        briefing(level)
    else:
        play(game)


def _broken(level: Level, error: MissionError) -> None:
    """Draw what is left to do about a saved game that cannot be played."""
    log.warning("the saved game of '%s' cannot be played: %s", level.id, error)
    with st.container(key="page"):
        st.header(level.title, anchor=False)
        messages.show_error(
            mission_state.in_one_line(error), "The other levels and your best times are not touched."
        )
        messages.show_notice()
        with st.container(horizontal=True):
            st.button("Start this level again", type="primary", key="mission-anew",
                      args=(level.id,),
                      on_click=mission_state.noticed(mission_state.games().discard))  # fmt: skip
            st.button("All levels", on_click=mission_state.open_level, args=("",), key="mission-levels")
