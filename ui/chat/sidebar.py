"""The sidebar of the chat: the conversations, what is exported of them, and which model answers."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.shapes import AnswerOut
from pipeline.errors import UnknownConversation
from pipeline.words import harmless, harmless_json
from ui.conversation import whose
from ui.conversation.finding import Day, by_day, times
from ui.conversation.model_picker import model_picker
from ui.conversation.runner import runner
from ui.shared import messages, process, state
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept
from ui.shared.words import local_time, plain, shortened

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.stores.conversations import Conversation, ConversationInfo, Turn

UNTITLED = "New conversation"
RENAME, PIN, UNPIN, EXPORT, DELETE = "Rename …", "Pin", "Unpin", "Export …", "Delete …"
ASK_TO_DELETE = "Delete this conversation?"
UNDO_S = 10.0
PRIVATE = (
    "Nothing of this conversation is stored or remembered. It is gone when you switch this off, "
    "or after a day without use."
)
NONE_YET = "Your conversations will be listed here."
NONE_FOUND = "No conversation has these words."
SEARCH = "search-conversations"
FEW = 5  # conversations that need no search
PAGE = 60
"""Conversations that are listed at first, and once more each time that older ones are asked for."""


@dataclass(slots=True)
class Listed:
    """How much of the list this session has asked for."""

    pages: int = 1


@dataclass(slots=True)
class Deleted:
    """The conversation that this session deleted last, while that can be undone; a time of `monotonic`."""

    conversation: Conversation | None = None
    until: float = 0.0


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
        with st.container(key="standing"):  # in view, however long the list is
            st.toggle(
                "Private conversation",
                value=whose.is_private(),
                key=f"private-{whose.is_private()}",
                on_change=_switch_privacy,
                args=(not whose.is_private(),),  # as drawn: a browser sends it again until it has drawn anew
            )
            whose.user_switch()
            model_picker()


@messages.noticed
def _switch_privacy(on: bool) -> None:
    whose.set_private(on=on)


def _conversations() -> None:
    """Draw the pinned conversations and the latest, or those of both that have the words of the search."""
    pages = kept(Listed).pages
    shown = PAGE * pages
    store, words = process.athena().conversations, state.entered(SEARCH)
    pinned = store.list(user=whose.user(), pinned=True, words=words)
    others = store.list(user=whose.user(), pinned=False, words=words, limit=shown + 1)
    if len(pinned) + len(others) >= FEW or words:
        st.text_input("Search conversations", key=SEARCH, placeholder="Search conversations",
                      label_visibility="collapsed", icon=":material/search:")  # fmt: skip
    there = kept(Deleted).conversation is not None
    st.fragment(_undoing, run_every=1.0 if there else None)(there)
    with st.container(key="conversations"):
        if not (pinned or others):
            st.caption(NONE_FOUND if words else NONE_YET)
        if pinned:
            _listed(Day("Pinned", tuple(pinned)), times(pinned, beside=others))
        for day in by_day(others[:shown], today=datetime.now().astimezone().date()):
            _listed(day, times(day.infos))
        if len(others) > shown:
            st.button(
                "Older conversations", type="tertiary", width="stretch", on_click=_show, args=(pages + 1,)
            )
    if pinned or others:
        _export_all()


def _listed(day: Day, used: Mapping[str, str]) -> None:
    current = state.conversation_id()
    st.caption(day.name)
    for info in day.infos:
        time = f"{used[info.id]} · " if info.id in used else ""
        _row(info, time, current=info.id == current)


def _export_all() -> None:
    athena, user = process.athena(), whose.user()
    with st.popover("Export all", icon=":material/download:", type="tertiary"):
        _download("As Markdown", partial(all_as_markdown, athena, user), "conversations.zip", "all-markdown")
        _download("As JSON", partial(all_as_json, athena, user), "conversations.json", "all-json")


def _show(pages: int) -> None:
    kept(Listed).pages = pages


def _row(info: ConversationInfo, time: str, *, current: bool) -> None:
    """Draw a conversation with its menu; `time` tells it from others of its title."""
    state_of = "current" if current else "other"
    with st.container(
        horizontal=True, key=f"{state_of}-{info.id}", gap=None, vertical_alignment="center", wrap=False
    ):
        label = plain(f"{time}{info.title or UNTITLED}")
        st.button(label, key=f"open-{info.id}", type="tertiary", width="stretch",
                  on_click=state.open_conversation, args=(info.id,))  # fmt: skip
        pinning = UNPIN if info.pinned else PIN
        st.menu_button(plain(f"Manage {info.title or UNTITLED}"), [RENAME, pinning, EXPORT, DELETE],
                       icon=":material/more_horiz:", key=f"menu-{info.id}", type="tertiary",
                       on_click=_manage, args=(info,))  # fmt: skip


@messages.noticed
def _manage(info: ConversationInfo) -> None:
    """Do what was chosen of a conversation's menu, or open the dialog for it."""
    dialogs = {
        RENAME: ("Rename this conversation", partial(_rename, info)),
        EXPORT: ("Export this conversation", partial(_export, info)),
        DELETE: (ASK_TO_DELETE, partial(confirm_deletion, info.id, info.title or UNTITLED)),
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


def _export(info: ConversationInfo) -> None:
    athena, name = process.athena(), file_name(info.title)
    _download("Export as Markdown", partial(markdown_of, athena, info.id), f"{name}.md", f"export-{info.id}")
    _download("Export as JSON", partial(json_of, athena, info.id), f"{name}.json", f"json-{info.id}")


def _download(label: str, made: Callable[[], str | bytes], name: str, key: str) -> None:
    """Draw a button that makes a file when it is clicked."""
    st.download_button(label, data=made, file_name=name, icon=":material/download:", width="stretch",
                       on_click="ignore", key=key)  # fmt: skip


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


def confirm_deletion(conversation: str, title: str) -> None:
    """Ask before a conversation is deleted."""
    st.text(f"“{title}” and its answers will be deleted. For {UNDO_S:.0f} seconds you can undo that.")
    remembered = _remembered_of(conversation)
    forget = bool(remembered) and st.checkbox(
        f"Forget what was remembered from it, too ({len(remembered)})", key="forget-remembered"
    )
    if messages.confirmed(no="Keep it", yes="Delete", key="conversation"):
        runner().forget(conversation)
        _delete(conversation)
        if forget:
            memory = process.athena().memory_of(whose.user())
            memory.forget(memory.forgetting(remembered))
        end_dialog()


def _delete(conversation: str) -> None:
    deleted, store = kept(Deleted), process.athena().conversations
    try:
        deleted.conversation = store.get(conversation)
        store.delete(conversation)
        deleted.until = monotonic() + UNDO_S
    except UnknownConversation:  # deleted in another window, which is what was asked for
        st.toast("That conversation was already deleted.")
    if state.conversation_id() == conversation:
        state.open_conversation("")


@messages.shown
def _undoing(there: bool) -> None:
    """Draw the way back from a deletion, as long as there is one; `there` is what the page was drawn for."""
    deleted = kept(Deleted)
    if deleted.conversation is not None and monotonic() >= deleted.until:
        deleted.conversation = None
    if deleted.conversation is None:
        if there:
            st.rerun()  # a click or the time ended it: the list shows what came of it
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="undoing", wrap=False):
        st.caption(plain(f"Deleted: {shortened(deleted.conversation.info.title or UNTITLED, 24)}"))
        st.button("Undo", icon=":material/undo:", key="undo-deletion", on_click=_undo)


@messages.noticed
def _undo() -> None:
    """Write the deleted conversation as it was; what was forgotten with it stays forgotten."""
    deleted = kept(Deleted)
    if deleted.conversation is not None:
        process.athena().conversations.restore(deleted.conversation)
        state.open_conversation(deleted.conversation.info.id)
        deleted.conversation = None


def markdown_of(athena: Athena, conversation_id: str) -> str:
    """A conversation as Markdown, citations as footnotes; raises `UnknownConversation`."""
    found = athena.conversations.get(conversation_id)
    return harmless(athena.filled_in(found.as_markdown(), user=found.info.user))


def json_of(athena: Athena, conversation_id: str) -> str:
    """A conversation as JSON; raises `UnknownConversation`."""
    return _written(athena, [athena.conversations.get(conversation_id)])


def all_as_json(athena: Athena, user: str) -> str:
    """All conversations of a user in one file, the latest used first."""
    stored = athena.conversations
    return _written(athena, [stored.get(info.id) for info in stored.list(user=user)])


def all_as_markdown(athena: Athena, user: str) -> bytes:
    """All conversations of a user as a zip with a file each: footnotes are numbered within one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, info in enumerate(athena.conversations.list(user=user), start=1):
            day = local_time(info.updated_at)[:10]
            archive.writestr(f"{number:04}-{day}-{file_name(info.title)}.md", markdown_of(athena, info.id))
    return buffer.getvalue()


def file_name(title: str) -> str:
    """A title as a file's name, without its ending."""
    kept = "".join(c if c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "conversation"


def _written(athena: Athena, conversations: list[Conversation]) -> str:
    shapes = [_shape(athena, conversation) for conversation in conversations]
    return harmless_json(json.dumps({"conversations": shapes}, ensure_ascii=False, indent=1)) + "\n"


def _shape(athena: Athena, conversation: Conversation) -> dict[str, Any]:
    info = conversation.info
    return {
        "id": info.id,
        "title": info.title,
        "user": info.user,
        "assistant": info.assistant,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "scope": list(info.scope),
        "pinned": info.pinned,
        "turns": [_turn_shape(athena, turn, user=info.user) for turn in conversation.turns],
    }


def _turn_shape(athena: Athena, turn: Turn, *, user: str) -> dict[str, Any]:
    """A turn as `athena ask --json` prints its answer, without the steps, and what its reader thought."""
    answer = AnswerOut.of(*athena.with_memories(turn.answer, user=user))
    shape = answer.model_dump(mode="json", exclude={"steps"})
    rating = {"created_at": turn.created_at, "feedback": turn.feedback, "feedback_text": turn.feedback_text}
    return shape | rating
