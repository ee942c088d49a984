"""The assistant beside the console: one conversation a game, silent while its computer is dark."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import streamlit as st

from athena.missions import mission_persona
from mission.commands import why_athena_is_silent
from mission.game import Game, Outcome
from pipeline.answering.persona import Persona
from pipeline.errors import AthenaError, UnknownConversation
from ui import pages
from ui.chat.sidebar import picked_model
from ui.conversation.talk import turns
from ui.mission import state as mission_state
from ui.mission.state import Said
from ui.shared import components, state
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation

log = logging.getLogger(__name__)

QUESTION = "mission-question"
WORKING = "Esc stops the answer"


def assistant(game: Game) -> None:
    """The column: what was asked, and the question."""
    persona = mission_persona()
    conversation = _conversation(game.level.id)
    run = state.runner().of(conversation.info.id) if conversation else None
    working = run is not None and run.working
    silent = why_athena_is_silent(game.ship, game.state)
    with st.container(key="talk"):
        if silent:
            _silence(persona, silent)
        if conversation is not None and (conversation.turns or run):
            turns(conversation, run, working=working)
            count = len(conversation.turns) + working
            components.follow(key="follow", data={"turn": f"{conversation.info.id}/{count}"})
        elif not silent:
            _greeting(game, persona)
    st.chat_input(
        _placeholder(persona, silent=bool(silent), working=working),
        key=QUESTION,
        disabled=working or bool(silent),
        on_submit=_submitted,
        args=(game.level.id,),
        max_chars=4000,
    )


def _placeholder(persona: Persona, *, silent: bool, working: bool) -> str:
    if silent:
        return f"{persona.name} does not answer"
    return WORKING if working else f"Ask {persona.name}"


def _silence(persona: Persona, why: str) -> None:
    """Why the assistant does not answer, and what that means."""
    with st.container(key="silent", border=True):
        st.markdown(f":material/power_off: **{plain(persona.name)} is silent**")
        st.text(f"{why}.")
        st.text(
            f"{persona.name} runs on the ship’s computer. Until it runs again you have the console alone: "
            "what was said before stays here, and the manuals can be read."
        )
        st.page_link(pages.documents(), label="Read the manuals", icon=":material/library_books:")


def _greeting(game: Game, persona: Persona) -> None:
    st.markdown(f"**{plain(persona.name)}**")
    st.text(persona.greeting)
    if game.outcome is Outcome.RUNNING:
        with st.container(key="mission-suggestions"):
            for number, question in enumerate(persona.suggestions):
                st.button(plain(question), key=f"mission-ask-{number}", width="stretch",
                          on_click=_asked, args=(game.level.id, question))  # fmt: skip


def _conversation(level: str) -> Conversation | None:
    wanted = mission_state.games().conversation(level)
    if not wanted:
        return None
    try:
        return state.athena().conversations.get(wanted)
    except UnknownConversation:  # deleted on the chat page: the next question begins another
        return None


def _submitted(level: str) -> None:
    _asked(level, str(st.session_state.get(QUESTION) or ""))


def _asked(level: str, question: str) -> None:
    game = mission_state.games().load(level)
    if game is not None and question.strip():
        ask(game, question.strip())


def ask(game: Game, question: str) -> None:
    """Start answering a question in the conversation of a game."""
    if not game.athena_available:
        return
    athena, games, level = state.athena(), mission_state.games(), game.level
    try:
        found = _conversation(level.id)
        if found is None:
            found = athena.conversations.create(f"Mission {level.number}: {level.title}")
            games.keep_conversation(level.id, found.info.id)
        persona = mission_persona(game.telemetry_for_assistant())
        engine = athena.chat(conversation_id=found.info.id, llm=picked_model(), persona=persona)
    except AthenaError as error:
        log.warning("cannot ask: %s", error)
        st.session_state[mission_state.ERROR] = Said(error.problem, error.fix)
        return
    state.runner().ask(engine, conversation_id=found.info.id, question=question)
