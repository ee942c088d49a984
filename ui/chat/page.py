"""The chat: one column of conversation, the evidence beside it, the question below it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownConversation
from pipeline.stores.turns import title_of
from pipeline.words import counted
from ui.conversation import whose
from ui.conversation.agents import agent_bar
from ui.conversation.asking import question_field, start_answer
from ui.conversation.runner import runner
from ui.conversation.scope import scope_bar, take_scope
from ui.conversation.talk import turns
from ui.shared import links, messages, process, state
from ui.shared.jobs import jobs
from ui.shared.process import answering_model
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.ingesting.uploads import UploadedFile
    from pipeline.stores.base import DocumentInfo
    from pipeline.stores.conversations import Conversation

QUESTIONS = 4
SUGGESTED = (  # for the manuals that come with Athena
    "The LN2 tank shows OFFLINE. What can be the reason and what do I do?",
    "ECS reports MALFUNC. How do I find the cause?",
    "How long does the oxygen last?",
    "What do I do when the CO2 in the cabin rises?",
)
LOOK_EVERY = 1.0  # seconds between two polls while documents are being indexed
NOT_COMPLETE = ":material/hourglass_top: Documents are being indexed. Answers use those that are ready."
FIRST_DOCUMENTS = "The first documents are being indexed."


def page() -> None:
    """Draw the page."""
    conversation = _conversation()
    run = runner().of(conversation.info.id) if conversation else None
    working = run is not None and run.working
    documents = process.athena().store.documents()
    current = conversation.info.id if conversation else ""
    with st.bottom:  # if Streamlit puts the field there itself, the page always scrolls to its end
        busy = _is_indexing()
        st.fragment(_indexing, run_every=LOOK_EVERY if busy or not documents else None)(busy, bool(documents))
        if documents:
            with st.container(horizontal=True, vertical_alignment="center", gap="small", key="question-bar"):
                scope_bar(conversation, documents)
                agent_bar(working=working)
        question_field(
            "Ask the documents" if documents else "Drop a file here, and ask about it",
            key="question",
            conversation_id=current,
            working=working,
            on_ask=partial(ask, conversation_id=current),
        )
    with st.container(key="chat"):
        if conversation is None or not (conversation.turns or run):
            _welcome(documents)
        else:
            turns(conversation, run, working=working, on_ask=partial(ask, conversation_id=current))


def _conversation() -> Conversation | None:
    wanted = state.conversation_id()
    if not wanted:
        return None
    try:
        conversation = whose.get(wanted)
    except UnknownConversation as error:
        messages.notify(str(error))
        state.open_conversation("")
        return None
    if not whose.is_kept_here(wanted):
        st.query_params["c"] = wanted
    return conversation


@messages.noticed
def ask(
    question: str, *, conversation_id: str = "", instead_of: str = "", files: Sequence[UploadedFile] = ()
) -> None:
    """Start answering a question in a conversation ("" = the one drawn last, or a new one); see `OnAsk`."""
    drawn = conversation_id or state.drawn_conversation_id()
    conversation = drawn or whose.begin(title_of(question), scope=take_scope())
    try:
        start_answer(question, conversation_id=conversation, instead_of=instead_of, files=files,
                     begins=not drawn)  # fmt: skip
    finally:  # last: after a change of the address, Streamlit may abort the callback at the next click
        if not drawn:
            state.open_conversation(conversation, in_address=not whose.is_kept_here(conversation))
        elif not instead_of:
            st.query_params.pop(state.ANSWER, None)


# -- the first visit ---------------------------------------------------------------------------------------


def _welcome(documents: Sequence[DocumentInfo]) -> None:
    """Draw an empty conversation: a greeting, questions to click, and which model answers."""
    persona = process.athena().persona
    with st.container(key="welcome"):
        st.header("What do you need to know?", anchor=False)
        st.text(persona.greeting)
        if not documents:
            _nothing_indexed()
            return
        prepared = persona.suggestions[:QUESTIONS] or (SUGGESTED if process.is_the_ships(documents) else ())
        with st.container(key="suggestions"):
            _suggestions(prepared or first_topics(documents))
        _what_answers(documents)


def _nothing_indexed() -> None:
    with st.container(border=True):
        st.markdown(f"**{FIRST_DOCUMENTS if jobs().working else 'Nothing is indexed yet.'}**")
        st.text("Drop files on the question below, or add them on the Documents page.")
        links.link("documents", "Documents", icon=":material/upload_file:")


def first_topics(documents: Sequence[DocumentInfo]) -> list[str]:
    """Return up to `QUESTIONS` distinct titles, spread evenly over the documents; the same at each call."""
    step = max(1, len(documents) // QUESTIONS)
    titles = (info.title for info in [*documents[::step], *documents])
    return list(dict.fromkeys(filter(None, titles)))[:QUESTIONS]


def _suggestions(questions: Sequence[str]) -> None:
    for row in (questions[:2], questions[2:]):
        for column, question in zip(st.columns(2), row, strict=False):
            column.button(plain(question), key=f"ask-{question}", width="stretch",
                          on_click=_ask_first, args=(question,))  # fmt: skip


def _ask_first(question: str) -> None:
    """Ask the first question; ignore a second click that comes before the page is drawn again."""
    if not runner().of(state.drawn_conversation_id()):
        ask(question)


def _what_answers(documents: Sequence[DocumentInfo]) -> None:
    """Draw how much is indexed and which model answers, or a link to connect one."""
    sections = counted(sum(info.sections for info in documents), "section")
    about = f"{counted(len(documents), 'document')}, {sections}"
    with st.container(horizontal=True, key="connection", vertical_alignment="center", gap="xsmall"):
        if model := answering_model():
            st.caption(f"{about}. {plain(model)} writes the answers.", width="content")
        else:
            st.caption(f"{about}. Answers are quotes: no language model is connected.", width="content")
            links.link("settings", "Connect one", icon=":material/settings:")


@messages.shown
def _indexing(busy: bool, any_documents: bool) -> None:
    """Warn while documents are being indexed; draw the page again at the end, and at the first document."""
    now = _is_indexing()
    if now != busy or (not any_documents and process.athena().store.documents()):
        st.rerun()
    if busy and any_documents:
        st.caption(NOT_COMPLETE)


def _is_indexing() -> bool:
    return process.athena().ingesting or jobs().working
