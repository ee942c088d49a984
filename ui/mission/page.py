"""The mission page: choose a level and play it; if its game cannot be loaded, the page shows why."""

from __future__ import annotations

import logging

import streamlit as st

from athena.missions import has_mission
from mission.errors import MissionError
from mission.levels import all_levels, level_of
from ui.mission.levels import ADDRESS, choice, game_of, open_level, opened_level, saved_games
from ui.mission.play import play
from ui.shared import messages, process

log = logging.getLogger(__name__)


def page() -> None:
    """Draw the page."""
    st.set_page_config(initial_sidebar_state="collapsed")
    if not has_mission(process.settings()):
        st.info("The mission is played with the manuals that come with Athena.")
        return
    wanted = opened_level()
    try:
        if wanted:
            level = level_of(wanted)
            st.query_params[ADDRESS] = level.id
            play(game_of(level.id))
        else:
            choice()
    except MissionError as error:
        log.warning("the mission '%s' cannot be shown: %s", wanted, error)
        messages.show_error(messages.summary(error), "")
        with st.container(horizontal=True):
            if wanted in all_levels():
                st.button("Start this level again", type="primary", key="mission-anew", args=(wanted,),
                          on_click=messages.noticed(saved_games().discard))  # fmt: skip
            st.button("All levels", on_click=open_level, args=("",), key="mission-levels")
