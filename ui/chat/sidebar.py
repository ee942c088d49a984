"""The sidebar of the chat: conversations, and the language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from ui.shared import state
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.models.base import ModelChoice
    from pipeline.stores.conversations import ConversationInfo

UNTITLED = "New conversation"
AUTO = "auto"
NO_MODEL = "none"
MOST_LISTED = 60


def sidebar() -> None:
    """Everything in it, on the chat page."""
    with st.sidebar:
        st.button(
            "New conversation", icon=":material/edit_square:", width="stretch", on_click=_begin, key="new"
        )
        _conversations()
        st.space("small")
        model_picker()


def _begin() -> None:
    state.open_conversation("")


def _conversations() -> None:
    current = state.conversation_id()
    found = state.athena().conversations.list()
    with st.container(key="conversations"):
        if not found:
            st.caption("Your conversations will be listed here.")
        for info in found[:MOST_LISTED]:
            _row(info, current=info.id == current)


def _row(info: ConversationInfo, *, current: bool) -> None:
    title = info.title or UNTITLED
    if not current:
        st.button(plain(title), key=f"open-{info.id}", type="tertiary", width="stretch", help=None,
                  on_click=state.open_conversation, args=(info.id,))  # fmt: skip
        return
    with st.container(
        horizontal=True, key=f"current-{info.id}", gap="xsmall", vertical_alignment="center", wrap=False
    ):
        st.button(plain(title), key=f"open-{info.id}", type="tertiary", width="stretch",
                  on_click=state.open_conversation, args=(info.id,))  # fmt: skip
        with st.popover("", icon=":material/more_horiz:", help="Rename, export or delete", type="tertiary"):
            _manage(info)


def _manage(info: ConversationInfo) -> None:
    conversations = state.athena().conversations
    title = st.text_input("Title", value=info.title, key=f"title-{info.id}", max_chars=120)
    if title.strip() and title != info.title:
        conversations.rename(info.id, title.strip())
        st.rerun()
    st.download_button(
        "Export as Markdown",
        data=lambda: conversations.export_markdown(info.id),
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


@st.dialog("Delete this conversation?")
def confirm_deletion(conversation: str, title: str) -> None:
    """Ask before a conversation goes for good."""
    st.text(f"“{title}” and its answers will be deleted for good.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Keep it", key="keep-conversation"):
            st.rerun()
        if st.button("Delete", type="primary", key="delete-conversation"):
            state.runner().forget(conversation)
            try:
                state.athena().conversations.delete(conversation)
            except UnknownConversation:  # deleted in another window, which is what was asked for
                st.toast("That conversation was already deleted.")
            state.open_conversation("")
            st.rerun()


def language_model() -> ModelChoice:
    """The language model that Athena finds by itself, or why there is none."""
    return state.models()[0]


def picked_model() -> str | None:
    """The language model picked in this session; None = the one that Athena finds."""
    value = str(st.session_state.get(state.MODEL) or AUTO)
    return None if value == AUTO else value


def answering() -> str:
    """The name of the model that answers; "" where answers are quotes."""
    picked = picked_model()
    if picked is None:
        return language_model().name
    return "" if picked == NO_MODEL else picked


def model_picker() -> None:
    """Pick the language model, or none, and see what is connected."""
    choice, names = state.models()
    options = list(dict.fromkeys([AUTO, *names, NO_MODEL]))
    if st.session_state.get(state.MODEL) not in options:
        st.session_state[state.MODEL] = AUTO
    advice = " ".join(filter(None, [choice.detail, choice.fix]))
    st.selectbox("Language model", options, key=state.MODEL, format_func=_label, help=advice or None)


def _label(name: str) -> str:
    if name == AUTO:
        return f"Automatic: {language_model().name or 'none found'}"
    return "None: answer with quotes" if name == NO_MODEL else name
