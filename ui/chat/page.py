"""The chat: one column of conversation, the evidence beside it, the question under it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import title_of
from ui.chat.sidebar import sidebar
from ui.chat.welcome import connection, say_what_is_indexed, wait_for_documents, welcome
from ui.conversation import whose
from ui.conversation.agents import agent_bar
from ui.conversation.asking import question_field, start_answer
from ui.conversation.runner import runner
from ui.conversation.scope import scope_bar, take_scope
from ui.conversation.talk import turns
from ui.shared import messages, process, state, style
from ui.shared.corpus import called

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation

FIRST_ADD = "Add documents first"
GONE = "That conversation is not stored any more. Ask a question to begin a new one."


def page() -> None:
    """Draw the page."""
    style.apply()
    conversation = _conversation()
    whose.show_in_address()
    sidebar()
    run = runner().of(conversation.info.id) if conversation else None
    working = run is not None and run.working
    with st.bottom:  # a field that Streamlit puts there itself would keep the end of the page in view
        current = conversation.info.id if conversation else ""
        documents = process.athena().store.sections.documents()
        if documents:
            say_what_is_indexed()
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="question-bar"):
                scope_bar(conversation.info if conversation else None)
                agent_bar(conversation, working=working)
        question_field(
            f"Ask the {called(documents)}" if documents else FIRST_ADD,
            key="question",
            conversation_id=current,
            working=working,
            disabled=not documents,
            on_ask=ask,
        )
    with st.container(key="chat"):
        messages.show_notice(drawn_again=working)  # as soon as the answer is there
        if conversation is None or not (conversation.turns or run):
            welcome(on_ask=ask)
        else:
            connection()
            turns(
                conversation, run, working=working, on_ask=partial(ask, conversation_id=current),
                noted=True,
            )  # fmt: skip
        if not documents:
            wait_for_documents()


def _conversation() -> Conversation | None:
    wanted = state.conversation_id()
    if not wanted:
        return None
    try:
        conversation = whose.get(wanted)
    except UnknownConversation as error:
        messages.notify(f"{error}" if error.fix == whose.SWITCH else GONE)
        state.open_conversation("")
        return None
    st.query_params["c"] = wanted
    return conversation


@messages.noticed
def ask(
    question: str,
    *,
    conversation_id: str = "",
    verbatim: bool = False,
    alone: bool = False,
    instead_of: str = "",
) -> None:
    """Start answering a question in a conversation: the named one, else the current one, else a new one.

    `verbatim` as it is spelled, `alone` without what was said before; `instead_of` names the turn that it is
    another version of.
    """
    drawn = conversation_id or state.drawn_conversation_id()
    conversation = drawn or whose.begin(
        title_of(question), assistant=process.persona().name, scope=take_scope()
    )
    try:
        start_answer(
            question, conversation_id=conversation, verbatim=verbatim, alone=alone, instead_of=instead_of
        )
    finally:  # last: where the address changes, Streamlit breaks off a callback for the next click
        if not drawn:
            state.open_conversation(conversation)
