"""Why not this page: one section on its way through the search, up to the step that dropped it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.errors import AthenaError, UnknownDocument
from pipeline.finding.why import why_answered
from ui.inspector import flow
from ui.inspector.what_if import options_of
from ui.shared import process
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.finding.why import Why
    from pipeline.stores.conversations import Turn


def why_not(turn: Turn) -> None:
    """Draw the choice of a section, and how far it came in the search."""
    sections = _all_sections()
    label = st.selectbox(
        "The section that you expected",
        list(sections),
        index=None,
        placeholder="Choose a section",
        key="expected",
    )
    if not label:
        st.caption("You see whether it is indexed, where each list ranked it, and the step that dropped it.")
        return
    source, heading = sections[label]
    try:
        why = why_answered(
            turn.answer,
            hybrid_search=process.athena().hybrid_search,
            options=options_of(turn.answer),
            source=source,
            heading=heading,
        )
    except AthenaError as error:
        st.error(plain(str(error)))
        return
    st.markdown(f"**{_verdict(why)}**")
    st.text(why.explanation)
    if rows := _why_rows(why):
        st.dataframe(rows, hide_index=True, width="content")


def _verdict(why: Why) -> str:
    if not why.indexed:
        return "Not indexed"
    return (
        f"Dropped by: {flow.LABELS.get(why.dropped_by, why.dropped_by)}"
        if why.dropped_by
        else "It was selected"
    )


def _why_rows(why: Why) -> list[dict[str, Any]]:
    """The lists that have it; whether it was selected, and in which place, is said above them."""
    places = {flow.LISTS.get(name, name): place for name, place in why.lists.items()}
    places |= {"Fused": why.fused, "Reranked": why.reranked}
    return [
        {"List": name, "Rank": place.rank, "Score": place.score}
        for name, place in places.items()
        if place.rank is not None
    ]


def _all_sections() -> dict[str, tuple[str, str]]:
    """Every section by its breadcrumb: (source, its own heading path joined)."""
    found: dict[str, tuple[str, str]] = {}
    store = process.athena().store.sections
    for info in store.documents():
        try:
            document = store.document(info.source)
        except UnknownDocument:  # deleted since the list was made
            continue
        for section in document.sections:
            path = [str(part) for part in section.metadata.get("heading_path") or []]
            found[" › ".join([info.source, *path])] = (info.source, " > ".join(path))
    return found
