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
PRIVATE = "private"
LONGEST_NAME = 60  # characters
KEPT_HERE = "Until then, this conversation is kept in memory alone, as a private one."
NO_PROTECTION = (
    "Conversations and memories are kept by name. Names are no protection: "
    "whoever opens this page can choose any of them."
)
NAME = "another-user"
SWITCH = "Switch to that name in the sidebar."


@dataclass(slots=True)
class Whose:
    """The name picked in this session ("" = the settings'), and whether its conversations are private."""

    name: str = ""
    private: bool = False
    begun: list[str] = field(default_factory=list)  # ids of its private conversations


def user() -> str:
    """The user of this session: whom a proxy names, else the address, so that a reload finds them again.

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


def known_users() -> list[str]:
    """All of whom something is stored, the settings' user, and this session's."""
    athena = process.athena()
    stored = {*athena.conversations.users(), *athena.memories.users()}
    return sorted({user(), process.settings().user, *stored}, key=str.casefold)


def show_in_address() -> None:
    """Keep a name that is not the settings', and that all is private, in the address."""
    if is_private():
        st.query_params[PRIVATE] = "1"
    if user() != process.settings().user and not process.settings().user_header:
        st.query_params[ADDRESS] = user()
    else:
        st.query_params.pop(ADDRESS, None)


@messages.noticed
def switch_to(name: str) -> None:
    """Go on as another user, with a new conversation; it is said once, where a browser says it twice."""
    if name == user():
        return
    set_private(on=False)
    kept(Whose).name = name
    st.query_params.pop(ADDRESS, None)
    state.open_conversation("")


@messages.noticed
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


def begin(title: str, *, assistant: str, scope: Sequence[str] = ()) -> str:
    """Begin a conversation of this session's user, with what it asks of the documents; its id.

    Where it cannot be stored, it is a private one.
    """
    athena = process.athena()
    if not is_private():
        try:
            return _begun(athena.conversations, title, assistant=assistant, scope=scope)
        except StoreError as error:
            messages.notify(f"{error} {KEPT_HERE}")
    made = _begun(athena.private_conversations, title, assistant=assistant, scope=scope)
    kept(Whose).begun.append(made)
    return made


def _begun(store: Conversations, title: str, *, assistant: str, scope: Sequence[str]) -> str:
    made = store.create(title, user=user(), assistant=assistant).info.id
    if scope:
        store.set_scope(made, scope)
    return made


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


def user_switch() -> None:
    """Whose conversations and memories these are, and the switch to another name."""
    current = user()
    if process.settings().user_header:
        st.caption(plain(current))
        return
    with st.popover(plain(current), icon=":material/person:", help="Switch to another name", width="stretch"):
        st.caption(NO_PROTECTION)
        for name in known_users():
            st.button(
                plain(name),
                key=f"user-{name}",
                type="tertiary",
                icon=":material/check:" if name == current else None,
                disabled=name == current,
                on_click=switch_to,
                args=(name,),
            )
        st.text_input(
            "Another name",
            key=f"{NAME}-{current}",  # another field for another user: empty again
            max_chars=LONGEST_NAME,
            on_change=switch_to_entered,
            args=(f"{NAME}-{current}",),
        )
