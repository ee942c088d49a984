"""Documents: what is indexed, one of them to read, uploads, deletion and indexing again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from athena.reading import kept_in
from pipeline.errors import AthenaError, UnknownDocument
from ui.documents.adding import add_files
from ui.documents.broken import broken_uploads
from ui.documents.indexing import index_again, progress
from ui.shared import components, messages, process, style
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.jobs import LOOK_EVERY, jobs
from ui.shared.markdown_tree import Span, converted_from, document_tree
from ui.shared.state import kept, sent
from ui.shared.words import FIRST_DOCUMENTS, local_time, plain

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo

TABLE = "files"
NOTHING_YET = "Nothing is indexed yet. Add files below, or run: athena ingest FOLDER"


@dataclass(slots=True)
class Cited:
    """The span that was opened last from the address of the page."""

    address: tuple[str, ...] = ()


def page() -> None:
    """Draw the page."""
    style.apply()
    _open_cited()
    with st.container(key="page"):
        st.header("Documents", anchor=False)
        messages.show_notice()
        documents = process.athena().store.sections.documents()
        busy = jobs().working
        _overview(documents, busy=busy)
        with st.container(key="progress"):  # always there: nothing below it moves
            st.fragment(progress, run_every=LOOK_EVERY if busy else None)(busy)
        add_files(busy=busy)
        broken_uploads(documents, busy=busy)
        _listed(documents, busy=busy)


def _open_cited() -> None:
    """Open the span that the address names, as that of a citation in another program does; once."""
    address = st.query_params.to_dict()
    source, span = address.get("source", ""), (address.get("start", ""), address.get("end", ""))
    cited = kept(Cited)
    if not source or cited.address == (source, *span):
        return
    cited.address = (source, *span)
    spans = [Span(int(span[0]), int(span[1]), "mark")] if all(map(str.isdecimal, span)) else []
    open_dialog(plain(source), partial(_read, source, spans), width="large")


def _overview(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    if not documents:
        st.text(FIRST_DOCUMENTS if busy else NOTHING_YET)
        return
    manifest = process.athena().store.sections.statistics().manifest
    with st.container(horizontal=True, gap="large"):
        st.metric("Documents", f"{len(documents):,}", width="content")
        st.metric("Sections", f"{sum(info.sections for info in documents):,}", width="content")
        st.metric("Sentences", f"{sum(info.sentences for info in documents):,}", width="content")
    messages.warn_of_outdated_index()
    if manifest:
        st.caption(f"Embedded with {manifest.embedding_model}, {manifest.dimensions} dimensions.")


def _listed(documents: Sequence[DocumentInfo], *, busy: bool) -> None:
    index_again(documents, busy=busy)
    if not documents:
        return
    components.files(
        key=TABLE,
        data={"files": [_row(info) for info in documents], "busy": busy},
        on_open_change=_open,
        on_remove_change=_ask_to_remove,
    )


def _open() -> None:
    if wanted := sent(TABLE, "open"):
        source = str(wanted["source"])
        open_dialog(plain(source), partial(_read, source), width="large")


def _ask_to_remove() -> None:
    if wanted := sent(TABLE, "remove"):
        open_dialog("Delete this document?", partial(confirm_removal, str(wanted["source"])))


def _row(info: DocumentInfo) -> dict[str, Any]:
    return {
        "source": info.source,
        "title": info.title or info.source,
        "converted": converted_from(info.source),
        "sections": info.sections,
        "sentences": info.sentences,
        "indexed": local_time(info.indexed_at),
    }


def confirm_removal(source: str) -> None:
    """Ask before a document is deleted."""
    documents = {info.source: info for info in process.athena().store.sections.documents()}
    info = documents.get(source)
    if info is None:
        st.text("It is not indexed any more.")
        return
    st.text(f"{source} will be removed from the index, and no answer will cite it.")
    if kept_in(process.athena().settings, info) is None:
        st.text("The file itself stays where it is, and comes back when its folder is indexed again.")
    if messages.confirmed(no="Keep it", yes="Delete", key="file"):
        _remove(source)
        end_dialog()


def _remove(source: str) -> None:
    try:
        process.athena().delete_with_file(source)
    except AthenaError as error:
        st.toast(plain(str(error)))


def _read(source: str, spans: Sequence[Span] = ()) -> None:
    """Draw one document, rendered."""
    try:
        document = process.athena().store.sections.document(source)
    except UnknownDocument:
        st.text("It is not indexed any more.")
        return
    if made := converted_from(source):
        st.caption(plain(f"{made}."))
    components.document(
        key="document", data={"tree": document_tree(document.text, source=source, spans=spans)}
    )
