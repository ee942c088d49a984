"""The conversations beside every page: open, search, rename and delete them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from ui.conversation import whose
from ui.conversation.runner import runner
from ui.shared import components, links, messages, process, state
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import plain, shortened

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation, ConversationInfo

UNTITLED = "New conversation"
RENAME, DELETE = "Rename …", "Delete …"
SEARCH = "search-conversations"
PAGE = 100  # most conversations listed
PRIVATE = "A private conversation is not stored and not remembered. It is gone when you close this page."


@dataclass(slots=True)
class LastDeletion:
    """The conversation that this session deleted last, kept for Undo."""

    deleted: Conversation | None = None


def sidebar(page: str) -> None:
    """Draw the sidebar of a page; a click on a conversation opens it in the chat."""
    run = runner().of(current := state.conversation_id())
    state.shared().working = current if run is not None and (run.working or run.naming) else ""
    with st.sidebar:
        chosen = st.button("New conversation", icon=":material/edit_square:", width="stretch", key="new",
                           on_click=_open, args=("",))  # fmt: skip
        if whose.is_private():
            st.caption(PRIVATE)
        else:
            chosen = _conversations() or chosen
        with st.container(key="standing"):  # in view, however long the list is
            private = whose.is_private()
            st.toggle("Private conversation", value=private, key=f"private-{private}", help=PRIVATE,
                      on_change=whose.set_private, kwargs={"on": not private})  # fmt: skip
            if process.settings().user_header:
                st.caption(plain(whose.user()))
    if chosen and page != "chat":
        links.go("chat")


def _conversations() -> bool:
    """Draw the latest conversations, or the matches of the search; return whether one was clicked."""
    words = state.entered(SEARCH)
    found = process.athena().conversations.list(user=whose.user(), words=words, limit=PAGE + 1)
    if found or words:
        st.text_input("Search conversations", key=SEARCH, placeholder="Search conversations",
                      label_visibility="collapsed", icon=":material/search:")  # fmt: skip
    _undoing()
    chosen = False
    with st.container(key="conversations"):
        if not found:
            st.caption(
                "No conversation contains these words." if words else "Your conversations appear here."
            )
        for name, infos in by_day(found[:PAGE], today=datetime.now().astimezone().date()):
            st.caption(name)
            for info in infos:
                chosen = _row(info) or chosen
        if len(found) > PAGE:
            st.caption("Search for older conversations.")
    return chosen


def by_day(infos: Iterable[ConversationInfo], *, today: date) -> list[tuple[str, list[ConversationInfo]]]:
    """Group conversations, latest first, by local day of last use: "Today", "Yesterday" or "4 May 2026"."""

    def day(info: ConversationInfo) -> str:
        used = datetime.fromtimestamp(info.updated_at).astimezone().date()
        if today - used <= timedelta(days=1):
            return "Today" if used >= today else "Yesterday"
        return f"{used.day} {used:%B} {used.year}"

    return [(name, list(group)) for name, group in groupby(infos, key=day)]


def _open(conversation: str) -> None:
    """Open a conversation ("" = a new one); the last deletion can then no longer be undone."""
    kept(LastDeletion).deleted = None
    state.open_conversation(conversation)


def _row(info: ConversationInfo) -> bool:
    """Draw a conversation with its menu; return whether it was clicked."""
    state_of = "current" if info.id == state.conversation_id() else "other"
    with st.container(horizontal=True, key=f"{state_of}-{info.id}", gap=None, wrap=False,
                      vertical_alignment="center"):  # fmt: skip
        clicked = st.button(plain(info.title or UNTITLED), key=f"open-{info.id}", type="tertiary",
                            width="stretch", on_click=_open, args=(info.id,))  # fmt: skip
        st.menu_button(plain(f"Manage {info.title or UNTITLED}"), [RENAME, DELETE],
                       icon=":material/more_horiz:", key=f"menu-{info.id}", type="tertiary",
                       on_click=_manage, args=(info,))  # fmt: skip
    return clicked


@messages.noticed
def _manage(info: ConversationInfo) -> None:
    """Open the dialog that was chosen in a conversation's menu."""
    match state.entered(f"menu-{info.id}"):
        case "Rename …":
            open_dialog("Rename this conversation", partial(_rename, info))
        case "Delete …":
            open_dialog("Delete this conversation?", partial(confirm_deletion, info))


def _rename(info: ConversationInfo) -> None:
    with st.form(f"rename-{info.id}", border=False):
        title = st.text_input("Title", value=info.title, key=f"title-{info.id}", max_chars=120)
        if st.form_submit_button("Rename", type="primary") and title.strip():
            process.athena().conversations.rename(info.id, title.strip())
            end_dialog()
    components.focus_first_field()


def confirm_deletion(info: ConversationInfo) -> None:
    """Ask whether to delete a conversation, and delete it after a yes."""
    st.text(f"This deletes “{info.title or UNTITLED}” and its answers. You can undo it afterwards.")
    st.text("Facts that were remembered from it stay. You can forget them on the Memory page.")
    if messages.confirmed(no="Keep", yes="Delete", key="conversation"):
        runner().forget(info.id)
        store = process.athena().conversations
        try:
            kept(LastDeletion).deleted = store.get(info.id)
            store.delete(info.id)
        except UnknownConversation:  # deleted in another window
            st.toast("That conversation was already deleted.")
        if state.conversation_id() == info.id:
            state.open_conversation("")
        end_dialog()


def _undoing() -> None:
    """Draw the button that undoes the last deletion of this session."""
    deleted = kept(LastDeletion).deleted
    if deleted is not None:
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key="undoing", wrap=False
        ):
            st.caption(plain(f"Deleted: {shortened(deleted.info.title or UNTITLED, 24)}"))
            st.button("Undo", icon=":material/undo:", key="undo-deletion", on_click=_undo, args=(deleted,))


@messages.noticed
def _undo(deleted: Conversation) -> None:
    """Restore the deleted conversation; memories forgotten in the meantime stay forgotten."""
    process.athena().conversations.restore(deleted)
    state.open_conversation(deleted.info.id)
    kept(LastDeletion).deleted = None
