"""Where a memory comes from: the words of the turn or the document, marked, or the memories it is made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from memory.ids import ANSWER
from pipeline.answering.citations import without_markers
from pipeline.errors import UnknownConversation, UnknownDocument
from pipeline.stores.memories import MemorySource
from ui.conversation import whose
from ui.conversation.forgetting import user_memory
from ui.shared import components, links, messages, process, state
from ui.shared.dialogs import close_dialog, open_dialog
from ui.shared.markdown_tree import Span, Tree, markdown_tree
from ui.shared.words import local_time, plain

if TYPE_CHECKING:
    from typing import Literal

    from pipeline.stores.conversations import Conversation, Turn

NO_SOURCE = "It was added by hand: there is no conversation or document to show."
DELETED = "That message was deleted."
FORGOTTEN_SINCE = "It was forgotten: nothing is left to show."
GONE = "The conversation was deleted. These were the words:"
NOT_THERE = "The words are not there any more. They were:"
NOT_INDEXED = "The document is not indexed any more. It said:"


def ask_for_source(memory_id: str) -> None:
    """Open the sources of one memory."""
    open_dialog("Where it comes from", partial(show_source, memory_id), width="medium")


def open_turn(turn_id: str) -> None:
    """Go to a turn in its conversation."""
    found = turn_of(turn_id.removesuffix(ANSWER))
    if found is None:
        messages.notify(DELETED)
        return
    conversation, turn = found
    close_dialog()  # the chat may be the page that it is open on
    state.open_conversation(conversation.info.id)
    position = next(number for number, one in enumerate(conversation.turns, start=1) if one.id == turn.id)
    links.go("chat", **{"c": conversation.info.id, state.ANSWER: str(position)})


def show_source(memory_id: str) -> None:
    """Show the sources of one memory, or something that was said."""
    of_user = user_memory()
    if said := of_user.said([memory_id]).get(memory_id):
        part: Literal["question", "answer"] = "answer" if said.role == "assistant" else "question"
        _turn(MemorySource(turn_id=said.id.removesuffix(ANSWER), part=part), 0)
        return
    memory = next((one for one in of_user.list(history=True) if one.id == memory_id), None)
    if memory is None:
        st.text(FORGOTTEN_SINCE)
        return
    st.markdown(f"**{plain(memory.text)}**")
    if memory.why:
        st.caption(plain(memory.why))
    if not memory.sources:
        st.text(NO_SOURCE)
    for number, source in enumerate(memory.sources):
        if source.memory_id:
            _other_memory(source.memory_id)
        elif source.source:
            _document(source, number)
        else:
            _turn(source, number)


def _other_memory(memory_id: str) -> None:
    said = user_memory().texts([memory_id]).get(memory_id, "(forgotten)")
    st.markdown(f"- {plain(said)}")


def _document(source: MemorySource, number: int) -> None:
    try:
        document = process.athena().store.sections.document(source.source)
    except UnknownDocument:
        _quote(NOT_INDEXED, source.quote, number)
        return
    st.caption(plain(source.source))
    if document.text[source.start : source.end] != source.quote:
        _quote(NOT_THERE, source.quote, number)
        return
    marked = [Span(source.start, source.end, "mark")]
    components.document(key=f"source-{number}", data={"tree": markdown_tree(document.text, spans=marked)})


def _turn(source: MemorySource, number: int) -> None:
    found = turn_of(source.turn_id)
    if found is None:
        _quote(GONE, source.quote, number)
        return
    turn = found[1]
    yours = source.part == "question"
    st.caption(f"{'You' if yours else 'The answer'}, {local_time(turn.created_at)}")
    text = turn.question if yours else without_markers(turn.answer.text)
    if text[source.start : source.end] != source.quote:
        _quote(NOT_THERE, source.quote, number)
    else:
        tree = marked_text(text, source.start, source.end)
        components.document(key=f"source-{number}", data={"tree": tree})
    if st.button("Open the conversation", icon=":material/forum:", key=f"open-source-{number}"):
        open_turn(turn.id)


def _quote(what: str, quote: str, number: int) -> None:
    st.text(what)
    if quote:
        tree: Tree = [{"t": "blockquote", "c": [{"t": "mark", "c": [quote]}]}]
        components.document(key=f"source-{number}", data={"tree": tree})


def turn_of(turn_id: str) -> tuple[Conversation, Turn] | None:
    """A turn of this session's user with its conversation; None where it is gone or another's."""
    conversations = process.athena().conversations
    try:
        conversation = conversations.get(conversations.conversation_of(turn_id))
    except UnknownConversation:
        return None
    if conversation.info.user != whose.user():
        return None
    turn = next((turn for turn in conversation.turns if turn.id == turn_id), None)
    return (conversation, turn) if turn else None


def marked_text(text: str, start: int, end: int) -> Tree:
    """A text as it is, one stretch of it marked, if it has any length."""
    marked: Tree = [{"t": "mark", "c": [text[start:end]]}] if start < end else []
    parts = [text[:start], *marked, text[end:]]
    return [{"t": "p", "k": "said", "c": [part for part in parts if part]}]
