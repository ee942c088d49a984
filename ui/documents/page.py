"""The documents page: the tree of collections, a reader with headings, uploads and deletion."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.errors import UnknownDocument
from pipeline.stores.globs import literal
from pipeline.words import counted
from ui.conversation.scope import set_scope
from ui.documents.adding import RUNNING, add_files, finished, index_again
from ui.shared import components, links, messages, process, state
from ui.shared.collections import collections, documents_below, draw_tree, globs_of
from ui.shared.dialogs import close_dialog, end_dialog, open_dialog
from ui.shared.jobs import jobs, show_job
from ui.shared.markdown import Span, file_html, headings_of
from ui.shared.state import kept, sent
from ui.shared.uploading import is_upload
from ui.shared.words import one_line, plain

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

TREE, READER = "documents-tree", "document"
NOTHING_YET = "Nothing is indexed yet. Add files below, or run `athena ingest FOLDER`."


@dataclass(slots=True)
class Chosen:
    """The ticked paths of the tree, and the (source, start, end) last opened from the address."""

    paths: tuple[str, ...] = ()
    address: tuple[str, ...] = ()


def page() -> None:
    """Draw the page."""
    _open_cited()
    with st.container(key="page"):
        st.header("Documents", anchor=False)
        documents = process.athena().store.documents()
        busy = jobs().working
        if documents:
            found = counted(len(collections(documents)), "collection")
            st.caption(f"{counted(len(documents), 'document')} in {found}")
        else:
            st.markdown("The first documents are being indexed." if busy else NOTHING_YET)
        with st.container(key="progress"):  # always there, so that nothing below it moves
            show_job(busy, on_end=finished)
        add_files(busy=busy, expanded=not documents)
        if documents:
            _listed(documents, busy=busy)


def _listed(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    """Draw the search, the buttons for the ticked documents, and the tree."""
    chosen = kept(Chosen)
    ticked = documents_below(documents, chosen.paths)
    with st.container(horizontal=True, vertical_alignment="center", key="documents-bar"):
        query = st.text_input("Search documents", key="documents-search", icon=":material/search:",
                              placeholder="Search name or title", label_visibility="collapsed")  # fmt: skip
        if ticked:
            st.caption(f"{counted(len(ticked), 'document')} chosen", width="content")
            if st.button("Ask these", icon=":material/forum:", key="ask-chosen"):
                _ask_about(globs_of(documents, chosen.paths))
            title = f"Delete {counted(len(ticked), 'document')}?"
            st.button("Delete …", icon=":material/delete:", key="delete-chosen", on_click=open_dialog,
                      args=(title, partial(confirm_deletion, ticked)))  # fmt: skip
        else:
            index_again(documents, busy=busy)
    draw_tree(TREE, documents, chosen.paths, query=query, on_tick=_tick, on_open=_open)


def _tick(paths: Sequence[str]) -> None:
    kept(Chosen).paths = tuple(paths)


def _open(source: str) -> None:
    open_dialog(plain(source), partial(read, source), width="large")


def _open_cited() -> None:
    """Open the document and span that the address names, once; other programs link to citations so."""
    address = st.query_params.to_dict()
    source, start, end = (address.get(name, "") for name in ("source", "start", "end"))
    chosen = kept(Chosen)
    if source and chosen.address != (source, start, end):
        chosen.address = (source, start, end)
        spans = [Span(int(start), int(end), "mark")] if start.isdecimal() and end.isdecimal() else []
        open_dialog(plain(source), partial(read, source, spans), width="large")


def read(source: str, spans: Sequence[Span] = ()) -> None:
    """Draw one document with its headings and marked `spans`; the reader can ask about selected text."""
    try:
        document = process.athena().store.document(source)
    except UnknownDocument:
        st.text("This document is no longer indexed.")
        return
    html = file_html(document.text, source=source, spans=spans)
    clicked = components.document(
        key=READER, data={"html": html, "headings": headings_of(html)}, on_ask_change=lambda: None
    )
    if clicked.ask and (asked := sent(READER, "ask")):
        _ask_about((literal(source),), one_line(str(asked["text"])))


def _ask_about(globs: Sequence[str], text: str = "") -> None:
    """Go to a new conversation about only these documents; `text`, if any, is quoted in its field."""
    close_dialog()
    state.open_conversation("")
    set_scope(None, globs)
    if text:
        state.choose("question", f"“{text}”: ")
    links.go("chat")


# -- deleting ----------------------------------------------------------------------------------------------


def confirm_deletion(documents: Sequence[DocumentInfo]) -> None:
    """Ask whether to delete documents, and delete them after a yes."""
    athena = process.athena()
    st.text(f"Answers will no longer cite {'it' if len(documents) == 1 else 'them'}.")
    uploaded = [is_upload(athena, info) for info in documents]
    if any(uploaded):
        st.text("Uploaded files are deleted for good.")
    if not all(uploaded):
        st.text("Your own files are not deleted. To index them again, choose “Look for changes”.")
    if messages.confirmed(no="Keep", yes="Delete", key="documents"):
        if jobs().working:
            st.toast(RUNNING)
            return
        for info in documents:
            with suppress(UnknownDocument):  # deleted in another window
                athena.delete_with_file(info.source)
        kept(Chosen).paths = ()
        end_dialog()
