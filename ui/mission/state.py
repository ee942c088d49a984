"""What the mission keeps in a session: the open level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec

import streamlit as st

from athena.missions import mission_folder
from mission.errors import MissionError
from mission.games import Games
from ui.shared import messages, process
from ui.shared.state import kept, shared

Given = ParamSpec("Given")

ADDRESS = "level"  # of the page's address


@dataclass(slots=True)
class MissionState:
    """The open level ("" = the choice of levels)."""

    level: str = ""


def games() -> Games:
    """The saved games of this Athena."""
    return Games(mission_folder(process.athena().settings))


def level() -> str:
    """The open level; the address wins, so that a reload finds it again."""
    from_address = st.query_params.get(ADDRESS, "")
    if from_address:
        kept(MissionState).level = from_address
    return kept(MissionState).level


def open_level(wanted: str) -> None:
    """Open a level ("" = the choice of levels); the notice and the evidence pane are closed."""
    kept(MissionState).level = wanted
    messages.notify("")
    shared().evidence = None
    if wanted:
        st.query_params[ADDRESS] = wanted
    else:
        st.query_params.clear()


def in_one_line(error: MissionError) -> str:
    """What went wrong in one line: details that checks found in a file are for the log."""
    return error.problem.splitlines()[0].rstrip(":")


def noticed(callback: Callable[Given, object]) -> Callable[Given, None]:
    """The callback of a widget; an expected error of it, of the mission's or any other, becomes a notice."""

    @wraps(callback)
    def guarded(*args: Given.args, **given: Given.kwargs) -> None:
        try:
            callback(*args, **given)
        except MissionError as error:
            messages.notify(in_one_line(error))

    return messages.noticed(guarded)
