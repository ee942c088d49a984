"""The sidebar of the chat: conversations, and the language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from ui import state

if TYPE_CHECKING:
    from pipeline.conversations import ConversationInfo

    from pipeline.models.base import ModelChoice

UNTITLED = "New conversation"
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
        st.button(title, key=f"open-{info.id}", type="tertiary", width="stretch", help=None,
                  on_click=state.open_conversation, args=(info.id,))  # fmt: skip
        return
    with st.container(
        horizontal=True, key=f"current-{info.id}", gap="xsmall", vertical_alignment="center", wrap=False
    ):
        st.button(title, key=f"open-{info.id}", type="tertiary", width="stretch",
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


def language_model() -> ModelChoice | None:
    """The language model that Athena found, if any."""
    found, _ = state.models()
    return next((choice for choice in found if choice.role == "language model"), None)


def picked_model() -> str | None:
    """The language model picked in this session; None = the one that Athena found."""
    value = st.session_state.get(state.MODEL)
    return str(value) if value else None


def model_picker() -> None:
    """Pick the language model, or none, and see what is connected."""
    found = language_model()
    _, names = state.models()
    options = list(dict.fromkeys([*names, NO_MODEL]))
    default = _name(found) if found and found.name else NO_MODEL
    if st.session_state.get(state.MODEL) not in options:
        st.session_state[state.MODEL] = default if default in options else options[0]
    st.selectbox("Language model", options, key=state.MODEL, format_func=_label, help=_help(found))


def _name(choice: ModelChoice) -> str:
    prefix = f"{choice.provider}/"
    return choice.name if choice.name.startswith(prefix) else prefix + choice.name


def _label(name: str) -> str:
    return "None: answer with quotes" if name == NO_MODEL else name


def _help(choice: ModelChoice | None) -> str | None:
    return " ".join(filter(None, [choice.detail, choice.fix])) if choice else None
