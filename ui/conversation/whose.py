"""Whose conversations a session shows, and where they are kept: in the store, or private in this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import ConfigurationError, StoreError, UnknownConversation
from ui.conversation.runner import runner
from ui.shared import messages, process, state
from ui.shared.state import entered, kept
from ui.shared.words import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.stores.conversations import Conversation, Conversations

ADDRESS = "u"
LONGEST_NAME = 60  # characters
NOT_STORED = "This conversation is private now: it is gone when you close this page."
NO_PROTECTION = "Names are no protection: anyone who opens this page can choose any of them."
PICKER = "user"


@dataclass(slots=True)
class Whose:
    """The name picked in this session ("" = the settings'), and whether its conversations are private."""

    name: str = ""
    private: bool = False
    begun: list[str] = field(default_factory=list)  # ids of its private conversations


def user() -> str:
    """Return the user of this session: whom a proxy names, else the one in the address, else the settings'.

    Raises `ConfigurationError` where a proxy should name one and does not.
    """
    if header := process.settings().user_header:
        return _named_by(header)
    whose = kept(Whose)
    whose.name = st.query_params.get(ADDRESS, "") or whose.name
    return whose.name or process.settings().user


def _named_by(header: str) -> str:
    name = str(st.user.get(process.PROXY_USER) or "").strip()[:LONGEST_NAME]
    if not name:
        raise ConfigurationError(
            f"The proxy in front of Athena did not say who you are: there is no header {header}.",
            "Open the page by the proxy's address, or unset ATHENA_USER_HEADER.",
        )
    return name


def show_in_address() -> None:
    """Keep a name that is not the settings' in the address, so that a reload finds it again."""
    if user() != process.settings().user and not process.settings().user_header:
        st.query_params[ADDRESS] = user()
    else:
        st.query_params.pop(ADDRESS, None)


def user_switch() -> None:
    """Draw whose conversations these are, where there is more than one user; the name can be changed."""
    if process.settings().user_header:
        st.caption(plain(user()))
        return
    athena = process.athena()
    known = {user(), process.settings().user, *athena.conversations.users(), *athena.memories.users()}
    if len(known) > 1:
        names = sorted(known, key=str.casefold)
        st.selectbox("User", names, index=names.index(user()), key=f"{PICKER}-{user()}", help=NO_PROTECTION,
                     on_change=_switch, args=(f"{PICKER}-{user()}",))  # fmt: skip


@messages.noticed
def _switch(key: str) -> None:
    """Go on as another user, with a new conversation."""
    name = entered(key)
    if name and name != user():
        set_private(on=False)
        kept(Whose).name = name
        st.query_params.pop(ADDRESS, None)
        state.open_conversation("")


def is_private() -> bool:
    """Return whether what is asked now is kept for this session alone."""
    return kept(Whose).private


@messages.noticed
def set_private(*, on: bool) -> None:
    """Begin private conversations, or end them: then they are gone."""
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
    """Begin a conversation of this session's user; return its id.

    Where it cannot be stored, it is a private one.
    """
    athena = process.athena()
    if not is_private():
        try:
            return _begun(athena.conversations, title, assistant=assistant, scope=scope)
        except StoreError as error:
            messages.notify(f"{error} {NOT_STORED}")
    made = _begun(athena.private_conversations, title, assistant=assistant, scope=scope)
    kept(Whose).begun.append(made)
    return made


def _begun(store: Conversations, title: str, *, assistant: str, scope: Sequence[str]) -> str:
    made = store.create(title, user=user(), assistant=assistant).info.id
    if scope:
        store.set_scope(made, scope)
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

    Raises `UnknownConversation`, also where it is another user's, or private to another session.
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
