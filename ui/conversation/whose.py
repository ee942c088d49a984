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
from ui.shared.state import entered, kept
from ui.shared.words import plain

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversation, Conversations

ADDRESS = "u"
LONGEST_NAME = 60  # characters
NO_PROTECTION = "Names do not protect anything: anyone who opens this page can choose any of them."


@dataclass(slots=True)
class Whose:
    """The name picked in this session ("" = the settings'), and its private conversations."""

    name: str = ""
    private: bool = False
    begun: list[str] = field(default_factory=list)  # ids of its private conversations


def user() -> str:
    """Return the user: from the proxy's header if one is set, else the address, the pick, or the settings.

    Raises `ConfigurationError` if the proxy sends no name.
    """
    settings = process.settings()
    if not settings.user_header:
        whose = kept(Whose)
        whose.name = st.query_params.get(ADDRESS, "") or whose.name
        return whose.name or settings.user
    name = str(st.user.get(process.PROXY_USER) or "").strip()[:LONGEST_NAME]
    if not name:
        raise ConfigurationError(
            f"The proxy in front of Athena did not say who you are in the header {settings.user_header}.",
            "Open the page by the proxy's address, or unset ATHENA_USER_HEADER.",
        )
    return name


def show_in_address() -> None:
    """Write a name other than the settings' into the address, so that a reload finds it again."""
    if user() != process.settings().user and not process.settings().user_header:
        st.query_params[ADDRESS] = user()
    else:
        st.query_params.pop(ADDRESS, None)


def user_switch() -> None:
    """Draw the user that the proxy names, or a choice if several users have conversations or memories."""
    if process.settings().user_header:
        st.caption(plain(user()))
        return
    athena = process.athena()
    known = {user(), process.settings().user, *athena.conversations.users(), *athena.store.memories.users()}
    if len(known) > 1:
        names, key = sorted(known, key=str.casefold), f"user-{user()}"
        st.selectbox("User", names, index=names.index(user()), key=key, help=NO_PROTECTION,
                     on_change=_switch, args=(key,))  # fmt: skip


@messages.noticed
def _switch(key: str) -> None:
    """Go on as another user, with a new conversation."""
    if name := entered(key):
        set_private(on=False)
        kept(Whose).name = name
        st.query_params.pop(ADDRESS, None)
        state.open_conversation("")


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


def begin(title: str, *, assistant: str, scope: Sequence[str] = ()) -> str:
    """Begin a conversation of this session's user; return its id."""
    athena = process.athena()
    store = athena.private_conversations if is_private() else athena.conversations
    made = store.create(title, user=user(), assistant=assistant).info.id
    if scope:
        store.set_scope(made, scope)
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
            "That conversation is private.", "Open it where it began, or begin another."
        )
    if found.info.user != user():
        raise UnknownConversation(
            f"That conversation belongs to “{found.info.user}”.", "Switch to that user."
        )
    return found


def open_turn(turn_id: str) -> None:
    """Go to a turn of this session's user in its conversation, from a dialog."""
    conversations = process.athena().conversations
    try:
        conversation = get(conversations.conversation_of(turn_id))
    except UnknownConversation:
        st.text("That message was deleted.")
        return
    number = [turn.id for turn in conversation.turns].index(turn_id) + 1
    close_dialog()
    state.open_conversation(conversation.info.id)
    links.go("chat", **{"c": conversation.info.id, state.ANSWER: str(number)})
