"""The user of a session, and where their conversations are: in the store, or private in this process."""

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

    private: bool = False
    begun: list[str] = field(default_factory=list)  # ids of its private conversations


def user() -> str:
    """Return the user: the one that the proxy's header names if that is set, else the one of the settings.

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
    """Return whether new conversations are kept for this session alone."""
    return kept(Whose).private


@messages.noticed
def set_private(*, on: bool) -> None:
    """Begin private conversations, or delete them."""
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
    """Return whether a conversation is private: kept in this process alone."""
    return conversation_id in process.athena().private_conversations


def store_of(conversation_id: str) -> Conversations:
    """Return the store of a conversation."""
    athena = process.athena()
    return athena.private_conversations if is_kept_here(conversation_id) else athena.conversations


def get(conversation_id: str) -> Conversation:
    """Return a conversation of this session's user.

    Raises `UnknownConversation`, also for another user's, and for one that is private to another session.
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
    """Go to a turn of this session's user in its conversation, from a dialog."""
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
