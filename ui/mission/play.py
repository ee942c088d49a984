"""The page of a game: the strip, the console, the ship, the assistant, and the ending."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from athena.missions import mission_persona
from mission.console import LEAVE
from mission.game import Game, Outcome
from mission.story import ending
from ui.mission.assistant import ask, assistant
from ui.mission.levels import begin, game_of, open_level, saved_games
from ui.mission.view import NOTHING_TO_FILL, View, console_view, ship_view, strip_view
from ui.shared import components, messages
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import begin_with, choose, kept, sent
from ui.shared.words import plain

VIEWS = ("Console", "Ship", "Assistant")
VIEW = "mission-view"
ASKED = "{} answers in the chat."


def play(game: Game) -> None:
    """Draw the page of a game."""
    _head(game)
    with st.container(key="mission-strip"):
        components.strip(key="strip", data=strip_view(game))
    if game.outcome is not Outcome.RUNNING:
        _ended(game)
    seen = _seen()
    with st.container(key=f"seen-{seen.lower()}"), st.container(key="bridge"):
        with st.container(key="console"):
            _console(game)
        with st.container(key="ship"):
            components.ship(key="ship-panel", data=ship_view(game))
        with st.container(key="assistant"):
            assistant(game, put=_put)


def _head(game: Game) -> None:
    with st.container(key="mission-head", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{game.level.number}. {plain(game.level.title)}**", width="content")
        _hints(game)
        st.button("All levels", on_click=open_level, args=("",), key="mission-levels",
                  type="tertiary", icon=":material/apps:", help="Your game is saved.")  # fmt: skip
        if game.outcome is Outcome.RUNNING:
            st.button("Abandon …", key="mission-abandon", type="tertiary", icon=":material/logout:",
                      on_click=open_dialog, args=("Abandon this level?",
                      partial(confirm_abandoning, game.level.id, game.level.title)))  # fmt: skip


def confirm_abandoning(level: str, title: str) -> None:
    """Ask whether to delete a running game, and delete it after a yes."""
    st.text(f"This deletes your game of “{title}”. To leave and keep it, choose “All levels”.")
    if messages.confirmed(no="Keep playing", yes="Abandon", key="game"):
        saved_games().discard(level)
        open_level("")
        end_dialog()


def _seen() -> str:
    """Return which of the three views a phone shows; a wide screen shows all."""
    with st.container(key="views"):
        begin_with(VIEW, VIEWS[0])
        picked = st.segmented_control("Show", VIEWS, required=True, key=VIEW, label_visibility="collapsed")
    return str(picked or VIEWS[0])


# -- console ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ConsoleLine:
    """The number of the last console line that was run, and the command to put on the input line."""

    number: int = 0
    fill: View = field(default_factory=NOTHING_TO_FILL.copy)


def _console(game: Game) -> None:
    level = game.level.id
    line = kept(ConsoleLine)
    data = console_view(game, acknowledged=line.number, fill=line.fill)
    components.console(key="console-panel", data=data, on_command_change=lambda: _typed(level))


def _put(line: str, number: int) -> None:
    """Put a command from an answer on the console's input line; on a phone, show the console."""
    kept(ConsoleLine).fill = {"number": number, "line": line}
    choose(VIEW, VIEWS[0])


@messages.noticed
def _typed(level: str) -> None:
    """Run the typed line, unless it was run before, and save the game; a line of `LEAVE` closes the level."""
    typed, last = sent("console-panel", "command"), kept(ConsoleLine)
    if not typed or typed.get("level") != level or int(typed["seq"]) <= last.number:
        return
    last.number, line = int(typed["seq"]), str(typed["line"])[:500]
    if line.strip().lower() in LEAVE:
        open_level("")
        return
    run(level, line)


def run(level: str, line: str) -> None:
    """Run a line of the console and save the game; a question goes to the assistant."""
    questions: list[str] = []

    def put(_: Game, question: str) -> str:
        questions.append(question)
        return ASKED.format(mission_persona().name)

    game = game_of(level)
    game.run(line, ask=put)
    saved_games().save(game)
    for question in questions:
        ask(game, question)
        choose(VIEW, VIEWS[-1])  # a phone shows the answer


# -- hints -----------------------------------------------------------------------------------------------


def _hints(game: Game) -> None:
    """Draw the hints given so far, and the button for the next hint."""
    left = len(game.hints_left)
    with st.popover("Hints", icon=":material/lightbulb:", type="tertiary"):
        for number, place in enumerate(game.hints_given, start=1):
            st.text(f"{number}. {game.level.hints[place].text}")
        if game.outcome is Outcome.RUNNING:
            label = f"Give me a hint ({left} left)" if left else "No hints are left"
            st.button(label, key="mission-hint", disabled=not left, on_click=_hint,
                      args=(game.level.id, len(game.hints_given)))  # fmt: skip
        elif not game.hints_given:
            st.text("You took no hints.")


@messages.noticed
def _hint(level: str, given: int) -> None:
    """Give the next hint if `given` hints were given so far: a double click gives only one."""
    game = game_of(level)
    if len(game.hints_given) == given:
        game.hint()
        saved_games().save(game)


# -- the end ---------------------------------------------------------------------------------------------


def _ended(game: Game) -> None:
    end, level = ending(game, saved_games().progress()), game.level
    with st.container(border=True, key="ended-won" if end.won else "ended-lost"):
        st.subheader(end.title, anchor=False)
        if end.reason:
            st.text(f"{end.reason[:1].upper()}{end.reason[1:]}.")
        for paragraph in end.story:
            st.text(paragraph)
        st.caption(end.summary)
        for paragraph in end.epilogue:
            st.text(paragraph)
        with st.container(horizontal=True):
            if following := end.following:
                st.button(f"Next: {plain(following.title)}", type="primary", key="mission-next",
                          on_click=open_level, args=(following.id,))  # fmt: skip
            st.button("Play again", on_click=begin, args=(level.id,), key="mission-again",
                      icon=":material/replay:")  # fmt: skip
