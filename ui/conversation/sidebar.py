"""The conversations beside every page: to open, search, pin, rename, export and delete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import groupby
from time import monotonic
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from pipeline.words import harmless
from ui.conversation import whose
from ui.conversation.remembered import user_memory
from ui.conversation.runner import runner
from ui.shared import components, links, messages, process, state
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import plain, shortened

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversation, ConversationInfo

UNTITLED = "New conversation"
RENAME, PIN, UNPIN, EXPORT, DELETE = "Rename …", "Pin", "Unpin", "Export …", "Delete …"
UNDO_S = 10.0
SEARCH = "search-conversations"
FEW = 5  # conversations that need no search
PAGE = 60  # conversations that are listed at first, and once more each time that older ones are asked for
PRIVATE = "Nothing of a private conversation is stored or remembered. It is gone when you close this page."


@dataclass(slots=True)
class Listed:
    """How much of the list this session has asked for, and what it deleted last while that can be undone."""

    pages: int = 1
    deleted: Conversation | None = None
    until: float = 0.0  # by `monotonic`


def sidebar(page: str) -> None:
    """Draw the sidebar of a page; a conversation that is chosen opens in the chat."""
    with st.sidebar:
        chosen = st.button("New conversation", icon=":material/edit_square:", width="stretch", key="new",
                           on_click=state.open_conversation, args=("",))  # fmt: skip
        if whose.is_private():
            st.caption(PRIVATE)
        else:
            chosen = _conversations() or chosen
        with st.container(key="standing"):  # in view, however long the list is
            private = whose.is_private()
            st.toggle("Private conversation", value=private, key=f"private-{private}", help=PRIVATE,
                      on_change=whose.set_private, kwargs={"on": not private})  # fmt: skip
            whose.user_switch()
    if chosen and page != "chat":
        links.go("chat")


def _conversations() -> bool:
    """Draw the pinned conversations and the latest, or those that have the words of the search."""
    listed = kept(Listed)
    shown, words = PAGE * listed.pages, state.entered(SEARCH)
    store = process.athena().conversations
    pinned = store.list(user=whose.user(), pinned=True, words=words)
    others = store.list(user=whose.user(), pinned=False, words=words, limit=shown + 1)
    if len(pinned) + len(others) >= FEW or words:
        st.text_input("Search conversations", key=SEARCH, placeholder="Search conversations",
                      label_visibility="collapsed", icon=":material/search:")  # fmt: skip
    st.fragment(_undoing, run_every=1.0 if listed.deleted else None)(listed.deleted is not None)
    chosen = False
    with st.container(key="conversations"):
        if not (pinned or others):
            st.caption(
                "No conversation has these words." if words else "Your conversations will be listed here."
            )
        days = by_day(others[:shown], today=datetime.now().astimezone().date())
        for name, infos in [*([("Pinned", pinned)] if pinned else []), *days]:
            st.caption(name)
            for info in infos:
                chosen = _row(info) or chosen
        if len(others) > shown:
            st.button(
                "Older conversations",
                type="tertiary",
                width="stretch",
                on_click=_show,
                args=(listed.pages + 1,),
            )
    return chosen


def by_day(infos: Iterable[ConversationInfo], *, today: date) -> list[tuple[str, list[ConversationInfo]]]:
    """Return conversations with the day of their last use on this machine's clock, in their order."""
    grouped = groupby(infos, key=lambda info: datetime.fromtimestamp(info.updated_at).astimezone().date())
    return [(_day_name(day, today), list(group)) for day, group in grouped]


def _day_name(day: date, today: date) -> str:
    if today - day <= timedelta(days=1):
        return "Today" if day >= today else "Yesterday"
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if day.year != today.year else "")


def _show(pages: int) -> None:
    kept(Listed).pages = pages


def _row(info: ConversationInfo) -> bool:
    """Draw a conversation with its menu; return whether it was clicked."""
    state_of = "current" if info.id == state.conversation_id() else "other"
    with st.container(
        horizontal=True, key=f"{state_of}-{info.id}", gap=None, vertical_alignment="center", wrap=False
    ):
        clicked = st.button(plain(info.title or UNTITLED), key=f"open-{info.id}", type="tertiary",
                            width="stretch", on_click=state.open_conversation, args=(info.id,))  # fmt: skip
        pinning = UNPIN if info.pinned else PIN
        st.menu_button(plain(f"Manage {info.title or UNTITLED}"), [RENAME, pinning, EXPORT, DELETE],
                       icon=":material/more_horiz:", key=f"menu-{info.id}", type="tertiary",
                       on_click=_manage, args=(info,))  # fmt: skip
    return clicked


@messages.noticed
def _manage(info: ConversationInfo) -> None:
    """Do what was chosen in a conversation's menu, or open the dialog for it."""
    dialogs = {
        RENAME: ("Rename this conversation", partial(_rename, info)),
        EXPORT: ("Export this conversation", partial(_export, info)),
        DELETE: ("Delete this conversation?", partial(confirm_deletion, info)),
    }
    wanted = state.entered(f"menu-{info.id}")
    if wanted in dialogs:
        open_dialog(*dialogs[wanted])
    elif wanted:
        process.athena().conversations.pin(info.id, pinned=wanted == PIN)


def _rename(info: ConversationInfo) -> None:
    with st.form(f"rename-{info.id}", border=False):
        title = st.text_input("Title", value=info.title, key=f"title-{info.id}", max_chars=120)
        if st.form_submit_button("Rename", type="primary") and title.strip():
            process.athena().conversations.rename(info.id, title.strip())
            end_dialog()
    components.focus_first_field()


def _export(info: ConversationInfo) -> None:
    st.download_button("Export as Markdown", data=partial(markdown_of, info.id), width="stretch",
                       file_name=f"{file_name(info.title)}.md", icon=":material/download:",
                       on_click="ignore", key=f"export-{info.id}")  # fmt: skip


def markdown_of(conversation_id: str) -> str:
    """Return a conversation as Markdown, citations as footnotes; raises `UnknownConversation`."""
    athena = process.athena()
    found = athena.conversations.get(conversation_id)
    return harmless(athena.filled_in(found.as_markdown(), user=found.info.user))


def file_name(title: str) -> str:
    """Return a title as a file's name, without its ending."""
    kept_letters = "".join(c if c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept_letters.split("-") if part)[:60] or "conversation"


def confirm_deletion(info: ConversationInfo) -> None:
    """Ask before a conversation is deleted, and whether what was remembered from it goes, too."""
    st.text(
        f"You delete “{info.title or UNTITLED}” and its answers. You can undo that for {UNDO_S:.0f} seconds."
    )
    remembered = _remembered_from(info.id)
    label = f"Forget what was remembered from it, too ({len(remembered)})"
    forget = bool(remembered) and st.checkbox(label, key="forget-remembered")
    if messages.confirmed(no="Keep", yes="Delete", key="conversation"):
        runner().forget(info.id)
        _delete(info.id)
        if forget:
            memory = user_memory()
            memory.forget(memory.forgetting(remembered))
        end_dialog()


def _remembered_from(conversation: str) -> list[str]:
    try:
        turns = {turn.id for turn in process.athena().conversations.get(conversation).turns}
    except UnknownConversation:  # deleted in another window
        return []
    memories = user_memory().list()
    return [one.id for one in memories if any(source.turn_id in turns for source in one.sources)]


def _delete(conversation: str) -> None:
    listed, store = kept(Listed), process.athena().conversations
    try:
        listed.deleted = store.get(conversation)
        store.delete(conversation)
        listed.until = monotonic() + UNDO_S
    except UnknownConversation:  # deleted in another window, as was asked for
        st.toast("That conversation was already deleted.")
    if state.conversation_id() == conversation:
        state.open_conversation("")


@messages.shown
def _undoing(there: bool) -> None:
    """Draw the button that undoes a deletion, while it can; `there` is what the page was drawn for."""
    listed = kept(Listed)
    if listed.deleted is not None and monotonic() >= listed.until:
        listed.deleted = None
    if listed.deleted is None:
        if there:
            st.rerun()  # a click or the time ended it: the list shows what came of it
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="undoing", wrap=False):
        st.caption(plain(f"Deleted: {shortened(listed.deleted.info.title or UNTITLED, 24)}"))
        st.button("Undo", icon=":material/undo:", key="undo-deletion", on_click=_undo)


@messages.noticed
def _undo() -> None:
    """Write the deleted conversation as it was; what was forgotten with it stays forgotten."""
    listed = kept(Listed)
    if listed.deleted is not None:
        process.athena().conversations.restore(listed.deleted)
        state.open_conversation(listed.deleted.info.id)
        listed.deleted = None
