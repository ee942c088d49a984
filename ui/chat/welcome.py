"""The first visit: what this is, four questions to click, what is indexed, what is connected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from pipeline.stores.base import DocumentInfo
from pipeline.words import counted
from ui.conversation.model_picker import (
    NO_MODEL,
    answering_model,
    found_model,
    look_for_models,
    picked_model,
)
from ui.conversation.runner import runner
from ui.conversation.suggestions import QUESTIONS, suggestions
from ui.shared import links, process, state
from ui.shared.corpus import corpus_title
from ui.shared.jobs import jobs
from ui.shared.messages import shown, warn_of_outdated_index
from ui.shared.words import FIRST_DOCUMENTS, plain, unbroken

LOOK_EVERY = 1.0  # seconds between two looks at the first documents
NOT_COMPLETE = ":material/hourglass_top: Documents are being indexed: what is not read yet is not found."
CONNECT = """\
**On this computer, with Ollama**

1. Install Ollama from its site and start it.
2. Fetch a model, for instance `ollama pull llama3.2`.
3. Choose *Look again*, and it appears under *Language model*.

**With OpenAI, or a server that speaks its protocol**

Enter its key, and the address of another server, on the *Settings* page.
"""


def welcome(*, on_ask: Callable[[str], None]) -> None:
    """Draw the empty conversation."""
    athena = process.athena()
    documents = athena.store.sections.documents()
    with st.container(key="welcome"):
        if title := corpus_title(documents):
            st.caption(plain(title))
        st.header("What do you need to know?", anchor=False)
        st.text(athena.persona.greeting)
        if not documents:
            _nothing_indexed()
            return
        warn_of_outdated_index()
        with st.container(key="suggestions"):
            prepared = list(athena.persona.suggestions[:QUESTIONS])
            _suggestions(prepared or suggestions(documents), on_ask)
        _indexed(documents)
        connection()


def _nothing_indexed() -> None:
    with st.container(border=True):
        if jobs().working:
            st.markdown(f"**{FIRST_DOCUMENTS}**")
            links.link("documents", "Watch", icon=":material/hourglass_top:")
        else:
            st.markdown("**Nothing is indexed yet.**")
            st.text("Add files on the Documents page, or run: athena ingest FOLDER")
            links.link("documents", "Add documents", icon=":material/upload_file:")


def wait_for_documents() -> None:
    """Draw the page again once the first documents are indexed, or are beginning to be."""
    st.fragment(_come_to_life, run_every=LOOK_EVERY)(jobs().working)


@shown
def _come_to_life(working: bool) -> None:
    if jobs().working != working or process.athena().store.sections.documents():
        st.rerun()


def say_what_is_indexed() -> None:
    """Say, while documents are being indexed, that an answer is of some of them only."""
    ingesting = process.athena().ingesting
    st.fragment(_being_indexed, run_every=LOOK_EVERY if ingesting else None)(ingesting)


def _being_indexed(drawn_for: bool) -> None:
    if drawn_for != process.athena().ingesting:
        st.rerun()
    if drawn_for:
        st.caption(NOT_COMPLETE)


def _suggestions(questions: Sequence[str], on_ask: Callable[[str], None]) -> None:
    for row in (questions[:2], questions[2:]):
        for column, question in zip(st.columns(2), row, strict=False):
            column.button(
                plain(unbroken(question)),
                key=f"ask-{question}",
                width="stretch",
                on_click=_ask_first,
                args=(question, on_ask),
            )


def _ask_first(question: str, on_ask: Callable[[str], None]) -> None:
    """Begin with a question; a second click, before the page is drawn anew, asks nothing more."""
    if not runner().of(state.drawn_conversation_id()):
        on_ask(question)


def _indexed(documents: Sequence[DocumentInfo]) -> None:
    sections = counted(sum(info.sections for info in documents), "section")
    sentences = counted(sum(info.sentences for info in documents), "sentence")
    st.caption(f"Indexed: {counted(len(documents), 'document')}, {sections}, {sentences}.")


def connection() -> None:
    """Say what answers at the moment, and how to connect a language model."""
    with st.container(horizontal=True, key="connection", vertical_alignment="center", gap="xsmall"):
        _connected()


def _connected() -> None:
    model = answering_model()
    if model:
        st.caption(f"Language model: {plain(model)}", width="content")
        return
    if picked_model() == NO_MODEL and found_model():
        st.caption("You chose to answer without a language model: answers are quotes.", width="content")
        return
    st.caption("No language model is connected: answers are quotes.", width="content")
    with st.popover("Connect one", type="tertiary"):
        st.markdown(CONNECT)
        st.button("Look again", icon=":material/sync:", on_click=look_for_models, key="look-again")
