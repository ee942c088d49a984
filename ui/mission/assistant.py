"""The assistant beside the console: one conversation per game, silent while the ship's computer is off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from athena.missions import mission_persona
from mission.commands import why_athena_is_silent
from mission.game import Game, Outcome
from pipeline.answering.persona import Persona
from pipeline.errors import UnknownConversation
from ui.conversation import whose
from ui.conversation.agents import agent_bar
from ui.conversation.asking import question_field, start_answer
from ui.conversation.runner import runner
from ui.conversation.talk import Commands, turns
from ui.mission.levels import game_of, saved_games
from ui.shared import links, messages, process
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation

QUESTION = "mission-question"


def assistant(game: Game, *, put: Callable[[str, int], None]) -> None:
    """Draw the conversation and the question field; `put` gets a clicked command and a growing number."""
    persona = mission_persona()
    conversation = _conversation(game)
    run = runner().of(conversation.info.id) if conversation else None
    working = run is not None and run.working
    silent = why_athena_is_silent(game.ship, game.state)
    with st.container(key="talk"):
        if silent:
            _silence(persona, silent)
        if conversation is not None and (conversation.turns or run):
            turns(
                conversation, run, working=working, on_ask=partial(_asked, game.level.id),
                commands=Commands(tuple(game.ship.commands) if game.outcome is Outcome.RUNNING else (), put),
            )  # fmt: skip
        elif not silent:
            _greeting(game, persona)
    if conversation is not None and not silent:
        agent_bar(working=working)
    placeholder = f"{persona.name} does not answer" if silent else f"Ask {persona.name}"
    question_field(
        placeholder,
        key=QUESTION,
        conversation_id=conversation.info.id if conversation else "",
        working=working and not silent,
        disabled=bool(silent),
        takes_files=False,
        on_ask=partial(_asked, game.level.id),
    )


def _silence(persona: Persona, why: str) -> None:
    """Draw why the assistant does not answer, and where the manuals are."""
    with st.container(key="silent", border=True):
        st.markdown(f":material/power_off: **{plain(persona.name)} is silent**")
        st.text(f"{why}.")
        st.text(
            f"{persona.name} runs on the ship’s computer. Until that runs again you have the console, the "
            "earlier answers and the manuals."
        )
        links.link("documents", "Read the manuals", icon=":material/library_books:")


def _greeting(game: Game, persona: Persona) -> None:
    st.markdown(f"**{plain(persona.name)}**")
    st.text(persona.greeting)
    if game.outcome is Outcome.RUNNING:
        with st.container(key="mission-suggestions"):
            for number, question in enumerate(persona.suggestions):
                st.button(plain(question), key=f"mission-ask-{number}", width="stretch",
                          on_click=_asked, args=(game.level.id, question))  # fmt: skip


def _conversation(game: Game) -> Conversation | None:
    if not (wanted := game.conversation_id):
        return None
    try:  # private to this process: neither listed nor remembered
        found = process.athena().private_conversations.get(wanted)
    except UnknownConversation:  # it was in an earlier process: the next question begins another
        return None
    return found if found.info.user == whose.user() else None


@messages.noticed
def _asked(level: str, question: str, *, instead_of: str = "", **_: object) -> None:
    ask(game_of(level), question, instead_of=instead_of)


@messages.noticed
def ask(game: Game, question: str, *, instead_of: str = "") -> None:
    """Start answering a question in the conversation of a game; see `OnAsk`.

    Do nothing if the assistant is silent. The conversation is neither listed nor remembered.
    """
    if why_athena_is_silent(game.ship, game.state):
        return
    persona = mission_persona()
    found = _conversation(game)
    if found is None:
        private = process.athena().private_conversations
        found = private.create(game.level.title, user=whose.user())
        game.conversation_id = found.info.id
        saved_games().save(game)
    start_answer(question, conversation_id=found.info.id, persona=persona, instead_of=instead_of)
