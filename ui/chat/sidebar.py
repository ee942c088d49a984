"""The sidebar of the chat: the conversations, and which language model answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from ui.conversation import whose
from ui.conversation.model_picker import model_picker
from ui.conversation.runner import runner
from ui.conversation.user_switch import user_switch
from ui.shared import messages, process, state
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.conversations import ConversationInfo

UNTITLED = "New conversation"
PRIVATE = "Nothing of this conversation is stored or remembered. It is gone when you switch this off."
PAGE = 60
"""Conversations that are listed at first, and once more each time that older ones are asked for."""


@dataclass(slots=True)
class Listed:
    """How much of the list this session has asked for."""

    pages: int = 1


def sidebar() -> None:
    """Draw the sidebar."""
    with st.sidebar:
        st.button(
            "New conversation",
            icon=":material/edit_square:",
            width="stretch",
            on_click=state.open_conversation,
            args=("",),
            key="new",
        )
        if whose.is_private():
            st.caption(PRIVATE)
        else:
            _conversations()
        st.space("small")
        st.toggle(
            "Private conversation",
            value=whose.is_private(),
            key=f"private-{whose.is_private()}",
            help="Nothing of it is stored or remembered.",
            on_change=lambda: whose.set_private(on=not whose.is_private()),
        )
        user_switch()
        model_picker()


def _conversations() -> None:
    current = state.conversation_id()
    shown = PAGE * state.kept(Listed).pages
    found = process.athena().conversations.list(user=whose.user(), limit=shown + 1)
    with st.container(key="conversations"):
        if not found:
            st.caption("Your conversations will be listed here.")
        for info in found[:shown]:
            _row(info, current=info.id == current)
        if len(found) > shown:
            st.button("Older conversations", type="tertiary", width="stretch", on_click=_show_more)


def _show_more() -> None:
    state.kept(Listed).pages += 1


def _row(info: ConversationInfo, *, current: bool) -> None:
    if not current:
        _opener(info)
        return
    with st.container(
        horizontal=True, key=f"current-{info.id}", gap="xsmall", vertical_alignment="center", wrap=False
    ):
        _opener(info)
        with st.popover("", icon=":material/more_horiz:", help="Rename, export or delete", type="tertiary"):
            _manage(info)


def _opener(info: ConversationInfo) -> None:
    st.button(plain(info.title or UNTITLED), key=f"open-{info.id}", type="tertiary", width="stretch",
              on_click=state.open_conversation, args=(info.id,))  # fmt: skip


def _manage(info: ConversationInfo) -> None:
    conversations = process.athena().conversations
    title = st.text_input("Title", value=info.title, key=f"title-{info.id}", max_chars=120)
    if title.strip() and title != info.title:
        conversations.rename(info.id, title.strip())
        st.rerun()
    st.download_button(
        "Export as Markdown",
        data=lambda: process.athena().filled_in(conversations.get(info.id).as_markdown(), user=info.user),
        file_name=f"{_file_name(info.title)}.md",
        mime="text/markdown",
        icon=":material/download:",
        width="stretch",
        on_click="ignore",
        key=f"export-{info.id}",
    )
    if st.button("Delete …", icon=":material/delete:", width="stretch", key=f"delete-{info.id}"):
        confirm_deletion(info.id, info.title or UNTITLED)


def _file_name(title: str) -> str:
    kept = "".join(c if c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "conversation"


def _remembered_of(conversation: str) -> list[str]:
    """The ids of the memories that come from a conversation; without it they keep the words, and no link."""
    athena = process.athena()
    try:
        turns = {turn.id for turn in athena.conversations.get(conversation).turns}
    except UnknownConversation:  # deleted in another window
        return []
    return [
        memory.id
        for memory in athena.memories.load(whose.user()).memories
        if any(source.turn_id in turns for source in memory.sources)
    ]


@st.dialog("Delete this conversation?")
def confirm_deletion(conversation: str, title: str) -> None:
    """Ask before a conversation is deleted."""
    st.text(f"“{title}” and its answers will be deleted for good.")
    remembered = _remembered_of(conversation)
    forget = bool(remembered) and st.checkbox(
        f"Forget what was remembered from it, too ({len(remembered)})", key="forget-remembered"
    )
    if messages.confirmed(no="Keep it", yes="Delete", key="conversation"):
        runner().forget(conversation)
        if forget:
            memory = process.athena().memory_of(whose.user())
            memory.forget(memory.forgetting(remembered), words=False)  # the turns go anyway
        try:
            process.athena().conversations.delete(conversation)
        except UnknownConversation:  # deleted in another window, which is what was asked for
            st.toast("That conversation was already deleted.")
        state.open_conversation("")
        st.rerun()
