"""Whose conversations a session shows, and where they are kept: in the store, or private in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from ui.conversation.runner import runner
from ui.shared import process, state
from ui.shared.state import entered, kept

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation, Conversations

ADDRESS = "u"
PRIVATE = "private"
LONGEST_NAME = 60  # characters
SWITCH = "Switch to that name in the sidebar."


@dataclass(slots=True)
class Whose:
    """The name picked in this session ("" = the settings'), and whether its conversations are private."""

    name: str = ""
    private: bool = False
    begun: list[str] = field(default_factory=list)  # ids of its private conversations


def user() -> str:
    """The user of this session: the address wins, so that a reload finds them again."""
    whose = kept(Whose)
    whose.name = st.query_params.get(ADDRESS, "") or whose.name
    return whose.name or process.settings().user


def known_users() -> list[str]:
    """All of whom something is stored, the settings' user, and this session's."""
    athena = process.athena()
    stored = {*athena.conversations.users(), *athena.memories.users()}
    return sorted({user(), process.settings().user, *stored}, key=str.casefold)


def show_in_address() -> None:
    """Keep a name that is not the settings', and that all is private, in the address."""
    if is_private():
        st.query_params[PRIVATE] = "1"
    if user() != process.settings().user:
        st.query_params[ADDRESS] = user()
    else:
        st.query_params.pop(ADDRESS, None)


def switch_to(name: str) -> None:
    """Go on as another user, with a new conversation."""
    set_private(on=False)
    kept(Whose).name = name
    st.query_params.pop(ADDRESS, None)
    state.open_conversation("")


def switch_to_entered(key: str) -> None:
    """Go on as the user whose name was typed."""
    name = "".join(character for character in entered(key) if character.isprintable())[:LONGEST_NAME]
    if name:
        switch_to(name)


def is_private() -> bool:
    """Whether what is asked now is kept in this process alone; a page that is loaded again stays so."""
    whose = kept(Whose)
    whose.private = whose.private or PRIVATE in st.query_params
    return whose.private


def set_private(*, on: bool) -> None:
    """Begin private conversations, or end them: then they are gone."""
    if on == is_private():
        return
    whose = kept(Whose)
    st.query_params.pop(PRIVATE, None)
    for conversation in whose.begun:
        runner().forget(conversation)
        if conversation in (private := process.athena().private_conversations):
            private.delete(conversation)
    whose.private, whose.begun = on, []
    state.open_conversation("")


def begin(title: str, *, assistant: str) -> str:
    """Begin a conversation of this session's user; its id."""
    if not is_private():
        made = process.athena().conversations.create(title, user=user(), assistant=assistant)
        return made.info.id
    made = process.athena().private_conversations.create(title, user=user(), assistant=assistant)
    kept(Whose).begun.append(made.info.id)
    return made.info.id


def is_kept_here(conversation_id: str) -> bool:
    """Whether a conversation is private: kept in this process alone."""
    return conversation_id in process.athena().private_conversations


def store_of(conversation_id: str) -> Conversations:
    """Where a conversation is kept."""
    athena = process.athena()
    return athena.private_conversations if is_kept_here(conversation_id) else athena.conversations


def get(conversation_id: str) -> Conversation:
    """A conversation of this session's user; raises `UnknownConversation`, also where it is another's."""
    found = store_of(conversation_id).get(conversation_id)
    if found.info.user != user():
        raise UnknownConversation(f"That conversation belongs to “{found.info.user}”.", SWITCH)
    if is_kept_here(conversation_id):  # also after the page was loaded again
        whose = kept(Whose)
        whose.private, whose.begun = True, list(dict.fromkeys([*whose.begun, conversation_id]))
    return found
