"""Memories beside a conversation: the dialog that forgets them, and where one comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from memory.ids import ANSWER as ANSWER_ID
from pipeline.answering.citations import without_markers
from pipeline.errors import AthenaError, UnknownConversation
from pipeline.stores.memories import MemorySource
from pipeline.words import counted
from ui.conversation import whose
from ui.shared import links, messages, process, state
from ui.shared.dialogs import close_dialog, end_dialog, open_dialog
from ui.shared.words import local_time, one_line, plain, shortened

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversation
    from pipeline.stores.turns import Turn

IN_FILES = "Backups that you made keep it."
IN_MONGODB = "MongoDB's journal and backups keep it until they are written over."
NOTHING = "There is nothing to forget."
BY_HAND = "It was added by hand: there is no conversation or document to show."
FORGOTTEN_SINCE = "It was forgotten: nothing is left to show."
DELETED = "That message was deleted."
SHOWN = 8  # facts and messages that a preview lists of each kind

Preview = Callable[["UserMemory"], "Forgetting"]


def user_memory() -> UserMemory:
    """Return the memory of this session's user."""
    return process.athena().memory_of(whose.user())


def ask_to_forget(memory_ids: Sequence[str]) -> None:
    """Open the dialog that forgets memories and messages by their ids."""
    ask_about(lambda memory: memory.forgetting(memory_ids))


def ask_about(preview: Preview) -> None:
    """Open the dialog that forgets what a preview finds."""
    open_dialog("Forget this?", partial(confirm_forgetting, preview))


def confirm_forgetting(preview: Preview) -> None:
    """Show what would be forgotten, and forget it once that is confirmed."""
    memory = user_memory()
    found = preview(memory)
    if not found:
        st.text(NOTHING)
        return
    _what_goes(found)
    st.caption(IN_MONGODB if process.settings().store == "server" else IN_FILES)
    if messages.confirmed(no="Keep", yes="Forget", key="memory"):
        memory.forget(found)
        end_dialog()


def _what_goes(found: Forgetting) -> None:
    """List the memories and messages that would be gone."""
    by_turn = {turn.id.removesuffix(ANSWER_ID): turn for turn in reversed(found.turns)}
    said = sorted(by_turn.values(), key=lambda turn: -(turn.at or 0.0))
    facts = [memory.text for memory in found.memories]
    counts = [counted(len(one), word) for one, word in ((facts, "fact"), (said, "message")) if one]
    st.text(f"You delete {' and '.join(counts)} for good.")
    _listed(facts)
    if found.said_in:
        st.text("The messages in which you said so are deleted, too. Others that say it stay.")
    if said:
        st.text("Messages are deleted with their answers:")
        _listed([turn.text for turn in said])


def _listed(found: Sequence[str]) -> None:
    with st.container(gap="xsmall"):
        for item in found[:SHOWN]:
            st.text(f"· {shortened(one_line(item), 200)}")
        if len(found) > SHOWN:
            st.caption(f"and {len(found) - SHOWN:,} more")


# -- where it comes from -----------------------------------------------------------------------------------


def show_source(memory_id: str) -> None:
    """Show the sources of one memory, or a message."""
    memory = user_memory()
    if said := memory.said([memory_id]).get(memory_id):
        _message(said.id.removesuffix(ANSWER_ID), said.text, said.text, part=said.role)
        return
    known = memory.index.memories.get(memory_id)
    if known is None:
        st.text(FORGOTTEN_SINCE)
        return
    st.markdown(f"**{plain(known.text)}**")
    if known.why:
        st.caption(plain(known.why))
    if not known.sources:
        st.text(BY_HAND)
    for source in known.sources:
        _source(source)


def _source(source: MemorySource) -> None:
    if source.memory_id:
        st.markdown(
            f"- {plain(user_memory().texts([source.memory_id]).get(source.memory_id, '(forgotten)'))}"
        )
    elif source.source:
        st.caption(plain(source.source))
        _quote(source.quote, source.quote)
    else:
        found = turn_of(source.turn_id)
        text = source.quote
        if found:
            turn = found[1]
            text = turn.question if source.part == "question" else without_markers(turn.answer.text)
        _message(source.turn_id, text, source.quote, part=source.part)


def _message(turn_id: str, text: str, quote: str, *, part: str) -> None:
    """Show a message with the words that were kept marked, and the way to its conversation."""
    found = turn_of(turn_id)
    if found is None:
        st.caption("The conversation was deleted. It said:")
    else:
        who = "The answer" if part in ("answer", "assistant") else "You"
        st.caption(f"{who}, {local_time(found[1].created_at)}")
    _quote(text, quote)
    if found and st.button("Open the conversation", icon=":material/forum:", key=f"open-{turn_id}-{part}"):
        open_turn(turn_id)


def _quote(text: str, quote: str) -> None:
    """Show a text as it is, with a stretch of it marked."""
    before, found, after = text.partition(quote) if quote else (text, "", "")
    marked = f"<mark>{escape(found)}</mark>" if found and (before or after) else escape(found)
    st.html(f'<blockquote class="said">{escape(before)}{marked}{escape(after)}</blockquote>')


def turn_of(turn_id: str) -> tuple[Conversation, Turn] | None:
    """Return a turn of this session's user with its conversation; None where it is gone or another's."""
    conversations = process.athena().conversations
    try:
        conversation = conversations.get(conversations.conversation_of(turn_id))
    except UnknownConversation:
        return None
    if conversation.info.user != whose.user():
        return None
    turn = next((turn for turn in conversation.turns if turn.id == turn_id), None)
    return (conversation, turn) if turn else None


def open_turn(turn_id: str) -> None:
    """Go to a turn in its conversation."""
    found = turn_of(turn_id.removesuffix(ANSWER_ID))
    if found is None:
        raise AthenaError(DELETED, "")
    conversation, turn = found
    close_dialog()  # the chat may be the page that it is open on
    state.open_conversation(conversation.info.id)
    position = next(number for number, one in enumerate(conversation.turns, start=1) if one.id == turn.id)
    links.go("chat", **{"c": conversation.info.id, state.ANSWER: str(position)})
