"""The view of whom and what was spoken of: the graph, one entity of it, the ranking and the stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from memory.deciding import edits
from memory.recalling import graph
from ui.conversation.forgetting import user_memory
from ui.conversation.memory_rows import rows
from ui.conversation.source import FORGOTTEN_SINCE
from ui.memory import picture
from ui.memory.listing import listed_rows
from ui.shared import components, messages
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.state import kept, sent
from ui.shared.words import plain

EMPTY = (
    "Nobody and nothing was spoken of yet. Names in what you ask to be remembered are linked here; "
    "with the preset `agent` or `graph`, those of all your messages are."
)


@dataclass(slots=True)
class ChosenEntity:
    """The entity that the graph is drawn around, by its id; "" = all of it."""

    id: str = ""


def graph_page() -> None:
    """Draw the view."""
    memory, chosen = user_memory(), kept(ChosenEntity)
    index = memory.index
    with index.lock:
        if not index.entities:
            st.markdown(EMPTY)
            return
        if chosen.id not in index.entities:
            chosen.id = ""
        drawn = picture.graph_view(index, chosen.id)
        most, changed = picture.ranking_view(index), picture.changes_view(index, now=memory.clock())
        stream = picture.stream_view(index, chosen.id)
        said = picture.sentences(index, chosen.id)
        named = index.entities[chosen.id].name if chosen.id else ""
        naming = graph.neighbourhood(index, [chosen.id], depth=0).direct if chosen.id else ()
        memories = [index.memories[known] for known in naming if known in index.memories]
    with st.container(horizontal=True, vertical_alignment="center", key="graph-head"):
        st.caption(plain(drawn["label"]))
        st.button("Show all", icon=":material/zoom_out_map:", type="tertiary", key="graph-all",
                  disabled=not chosen.id, on_click=_choose, args=("",))  # fmt: skip
    components.graph(
        key="graph", data=drawn, on_open_change=lambda: _chosen("graph"), on_merge_change=_dropped
    )
    if chosen.id:
        _entity(chosen.id, named, said)
        listed_rows(rows(memories), key="naming", otherwise="No memory names it: it is in an answer.")
    left, right = st.columns(2)
    with left:
        _ranked("Spoken of most", most, key="most", otherwise="")
    with right:
        _ranked("Changes since last week", changed, key="changed", otherwise="Nothing has changed.")
    st.subheader("Stream", anchor=False)
    components.stream(key="stream", data=stream, on_open_change=lambda: _chosen("stream"))


def _entity(entity_id: str, name: str, said: Sequence[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(plain(name), anchor=False, width="content")
        st.button("Same as …", icon=":material/merge:", type="tertiary", key="same-as",
                  on_click=ask_what_is_the_same, args=(entity_id,))  # fmt: skip
    for sentence in said[: picture.LISTED]:
        st.text(sentence)
    if not said:
        st.caption("Nothing relates it to anything else yet.")


def _dropped() -> None:
    """One was dragged onto another."""
    if wanted := sent("graph", "merge"):
        ask_what_is_the_same(str(wanted["id"]), str(wanted["other"]))


def ask_what_is_the_same(entity_id: str, other_id: str = "") -> None:
    """Ask before two entities become one, and which other one it is."""
    open_dialog("Are they the same?", partial(merging, entity_id, other_id))


def merging(entity_id: str, other_id: str = "") -> None:
    """Let an entity be the same as another, under the name that is chosen."""
    memory = user_memory()
    names = {known: entity.name for known, entity in memory.index.entities.items()}
    if entity_id not in names:
        st.text(FORGOTTEN_SINCE)
        return
    others = sorted(
        (known for known in names if known != entity_id), key=lambda known: names[known].casefold()
    )
    other = st.selectbox(
        f"{plain(names[entity_id])} is the same as", others, placeholder="Choose a name", key="same-entity",
        index=others.index(other_id) if other_id in others else None, format_func=lambda known: names[known],
    )  # fmt: skip
    kept_name = entity_id
    if other is not None:
        kept_name = st.radio("Both are called", (entity_id, other), format_func=lambda known: names[known],
                             key="same-name", horizontal=True)  # fmt: skip
    st.caption("What was said of either is then said of one; both names lead to it. This cannot be undone.")
    if messages.confirmed(no="Cancel", yes="They are the same", key="merge", ready=other is not None):
        gone = entity_id if kept_name == other else str(other)
        edits.merge_entities(memory, kept_name, gone)
        _choose(kept_name)
        end_dialog()


def _ranked(title: str, view: picture.View, *, key: str, otherwise: str) -> None:
    st.subheader(title, anchor=False)
    if view["rows"]:
        components.ranking(key=key, data=view, on_open_change=lambda: _chosen(key))
    else:
        st.caption(otherwise)


def _chosen(key: str) -> None:
    if wanted := sent(key, "open"):
        _choose(str(wanted["id"]))


def _choose(entity_id: str) -> None:
    kept(ChosenEntity).id = entity_id
