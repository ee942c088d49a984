"""The chat: one column of conversation, the evidence beside it, the question under it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import AthenaError, UnknownConversation
from pipeline.stores.conversations import title_of
from ui.chat.sidebar import picked_model, sidebar
from ui.chat.welcome import connection, welcome
from ui.conversation.talk import turns
from ui.shared import state, style
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation

log = logging.getLogger(__name__)

ASK = "Ask the manuals"
WORKING = "Esc stops the answer"
ERROR = "chat_error"


def page() -> None:
    """The page as Streamlit runs it."""
    style.apply()
    conversation = _conversation()
    sidebar()
    run = state.runner().of(conversation.info.id) if conversation else None
    working = run is not None and run.working
    st.chat_input(WORKING if working else ASK, key="question", disabled=working, on_submit=_submitted,
                  max_chars=4000)  # fmt: skip
    with st.container(key="chat"):
        _errors()
        if conversation is None or not (conversation.turns or run):
            welcome(on_ask=ask)
        else:
            connection()
            turns(conversation, run, working=working)


def _errors() -> None:
    message = st.session_state.pop(ERROR, "")
    if message:
        st.warning(plain(message), icon=":material/error:")


def _conversation() -> Conversation | None:
    wanted = state.conversation_id()
    if not wanted:
        return None
    try:
        conversation = state.athena().conversations.get(wanted)
    except UnknownConversation:
        st.session_state[ERROR] = (
            "That conversation is not stored any more. Ask a question to begin a new one."
        )
        state.open_conversation("")
        return None
    st.query_params["c"] = wanted
    return conversation


def _submitted() -> None:
    ask(str(st.session_state.get("question") or ""))


def ask(question: str) -> None:
    """Start answering a question, in the current conversation or in a new one."""
    question = question.strip()
    if not question:
        return
    athena = state.athena()
    conversation = state.conversation_id()
    try:
        if not conversation:
            conversation = athena.conversations.create(title_of(question)).info.id
            state.open_conversation(conversation)
        picked = picked_model()
        engine = athena.chat(conversation_id=conversation, llm=picked)
    except AthenaError as error:
        log.warning("cannot ask: %s", error)
        st.session_state[ERROR] = str(error)
        return
    state.runner().ask(engine, conversation_id=conversation, question=question)
