"""The user of a session, and their conversations: stored ones, and private ones in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import ConfigurationError, UnknownConversation
from ui.conversation.runner import runner
from ui.shared import links, messages, process, state
from ui.shared.dialogs import close_dialog
from ui.shared.state import kept

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversation, Conversations

LONGEST_NAME = 60  # characters


@dataclass(slots=True)
class Whose:
    """The private conversations of this session."""

    private: bool = False  # whether new conversations are private
    begun: list[str] = field(default_factory=list)  # ids of the private conversations


def user() -> str:
    """Return the user's name: from the proxy's header if `user_header` is set, else from the settings.

    Raises `ConfigurationError` if the proxy sends no name.
    """
    settings = process.settings()
    if not settings.user_header:
        return settings.user
    name = str(st.user.get(process.PROXY_USER) or "").strip()[:LONGEST_NAME]
    if not name:
        raise ConfigurationError(
            f"The proxy in front of Athena did not say who you are in the header {settings.user_header}.",
            "Open the page by the proxy's address, or unset ATHENA_USER_HEADER.",
        )
    return name


def user_memory() -> UserMemory:
    """Return the memory of this session's user."""
    return process.athena().memory_of(user())


def is_private() -> bool:
    """Return whether new conversations of this session are private."""
    return kept(Whose).private


@messages.noticed
def set_private(*, on: bool) -> None:
    """Turn private conversations on or off; delete this session's, and open a new conversation."""
    whose = kept(Whose)
    if on == whose.private:
        return
    for conversation in whose.begun:
        runner().forget(conversation)
        if conversation in (private := process.athena().private_conversations):
            private.delete(conversation)
    whose.private, whose.begun = on, []
    state.open_conversation("")


def begin(title: str, *, scope: Sequence[str] = ()) -> str:
    """Begin a conversation of this session's user; return its id."""
    athena = process.athena()
    store = athena.private_conversations if is_private() else athena.conversations
    made = store.create(title, user=user(), scope=scope).info.id
    if is_private():
        kept(Whose).begun.append(made)
    return made


def is_kept_here(conversation_id: str) -> bool:
    """Return whether a conversation is private, of any session: it exists only in this process."""
    return conversation_id in process.athena().private_conversations


def store_of(conversation_id: str) -> Conversations:
    """Return the store of a conversation: the private one if it is there, else the permanent one."""
    athena = process.athena()
    return athena.private_conversations if is_kept_here(conversation_id) else athena.conversations


def get(conversation_id: str) -> Conversation:
    """Return a conversation of this session's user.

    Raises `UnknownConversation`, also if it is another user's, or private to another session.
    """
    found = store_of(conversation_id).get(conversation_id)
    if is_kept_here(conversation_id) and conversation_id not in kept(Whose).begun:
        raise UnknownConversation(
            "That conversation is private.", "Open it in the window where it began, or begin another."
        )
    if found.info.user != user():
        raise UnknownConversation(
            f"That conversation belongs to “{found.info.user}”.", "Begin another conversation."
        )
    return found


def open_turn(turn_id: str) -> None:
    """Close the dialog that calls this, and open a turn in its conversation; if it is deleted, say so."""
    conversations = process.athena().conversations
    try:
        conversation = get(conversations.turn(turn_id).answer.conversation_id)
    except UnknownConversation:
        st.text("That message was deleted.")
        return
    number = [turn.id for turn in conversation.turns].index(turn_id) + 1
    close_dialog()
    state.open_conversation(conversation.info.id)
    links.go("chat", **{"c": conversation.info.id, state.ANSWER: str(number)})
