"""The graph view: the picture, one entity, the entities mentioned most, and the stream of mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from memory import graph
from ui.conversation.forgetting import user_memory
from ui.memory import picture
from ui.shared import components
from ui.shared.state import kept, sent
from ui.shared.words import plain

EMPTY = (
    "Nobody and nothing was spoken of yet. Names in what you ask to be remembered are linked here; "
    "with the preset `agent` or `graph`, those of all your messages are."
)


@dataclass(slots=True)
class ChosenEntity:
    """The id of the entity that the graph is drawn around; "" = all of it."""

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
        said = picture.sentences(index, chosen.id)
        named = index.entities[chosen.id].name if chosen.id else ""
        naming = graph.neighbourhood(index, [chosen.id], depth=0).direct if chosen.id else ()
        naming_texts = [index.memories[known].text for known in naming if known in index.memories]
    with st.container(horizontal=True, vertical_alignment="center", key="graph-head"):
        st.caption(plain(drawn["label"]))
        st.button("Show all", icon=":material/zoom_out_map:", type="tertiary", key="graph-all",
                  disabled=not chosen.id, on_click=_choose, args=("",))  # fmt: skip
    components.graph(key="graph", data=drawn, on_open_change=lambda: _chosen("graph"))
    if chosen.id:
        _entity(named, said)
        for text in naming_texts[: picture.LISTED]:
            st.text(f"· {text}")


def _entity(name: str, said: Sequence[str]) -> None:
    st.subheader(plain(name), anchor=False)
    for sentence in said[: picture.LISTED]:
        st.text(sentence)
    if not said:
        st.caption("Nothing relates it to anything else yet.")


def _chosen(key: str) -> None:
    if wanted := sent(key, "open"):
        _choose(str(wanted["id"]))


def _choose(entity_id: str) -> None:
    kept(ChosenEntity).id = entity_id
