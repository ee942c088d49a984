"""The graph of what was spoken of, drawn by Graphviz in the browser, and what is known about one of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from memory import graph
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Relation

DRAWN = 36  # entities at most: more is no picture
LISTED = 10
DEPTH = 2
ALL = ""
COLOURS = {
    "light": ("#1d2227", "#5c5a54", "#0b666b", "#e3efee"),
    "dark": ("#e6e8ea", "#a4adb7", "#5cc4c0", "#1b2f31"),
}
"""Of names, relations, outlines and grounds."""


def graph_of(memory: UserMemory) -> None:
    """Draw the graph, where there is one: all of it, or what is around a chosen name."""
    index = memory.index
    with index.lock:
        if not index.relations:
            return
        names = {known: entity.name for known, entity in index.entities.items()}
        with st.expander("Names and how they relate", icon=":material/hub:"):
            ids = [ALL, *sorted(names, key=lambda known: names[known].casefold())]
            chosen = st.selectbox(
                "Around", ids, format_func=lambda known: names.get(known, "All names"), key="around"
            )
            theme = st.context.theme.type or "light"
            st.graphviz_chart(
                dot(index, chosen, theme=theme), width="stretch", alt="Names and how they relate"
            )
            for sentence in sentences(index, chosen)[:LISTED]:
                st.text(f"· {sentence}")


def dot(index: UserIndex, chosen: str, *, theme: str) -> str:
    """Return the graph in Graphviz's language: the names spoken of most, or those around the chosen one."""
    if chosen in index.entities:
        around = graph.neighbourhood(index, [chosen], depth=DEPTH)
        shown, relations = [entity.id for entity in around.entities], around.relations
    else:
        shown = [known.entity.id for known in graph.entity_knowledge(index)] or [*index.entities]
        relations = tuple(index.relations.values())
    return _written(index, shown[:DRAWN], relations, chosen, theme)


def _written(
    index: UserIndex, shown: Sequence[str], relations: Collection[Relation], chosen: str, theme: str
) -> str:
    text, quiet, line, ground = COLOURS[theme]
    edges: dict[tuple[str, str], list[str]] = {}
    for one in relations:
        pair = (one.subject_id, one.object_id)
        if pair[0] != pair[1] and one.label not in edges.setdefault(pair, []):
            edges[pair].append(one.label)
    numbers = {known: f"n{number}" for number, known in enumerate(shown) if known in index.entities}
    nodes = [
        f'{number} [label="{_quoted(index.entities[known].name)}"{" penwidth=3" if known == chosen else ""}]'
        for known, number in numbers.items()
    ]
    arrows = [
        f'{numbers[first]} -> {numbers[second]} [label="{_quoted(", ".join(labels))}"]'
        for (first, second), labels in edges.items()
        if {first, second} <= numbers.keys()
    ]
    style = (
        'graph [bgcolor="transparent" rankdir="LR" pad="0.2"]',
        f'node [shape="box" style="rounded,filled" fillcolor="{ground}" color="{line}"]',
        f'node [fontcolor="{text}" fontsize="13"]',
        f'edge [color="{quiet}" fontcolor="{quiet}" fontsize="11" arrowsize="0.7"]',
    )
    return "digraph {\n" + "\n".join([*style, *nodes, *arrows]) + "\n}"


def _quoted(text: str) -> str:
    """Return a text for a quoted label: nothing in it ends the label or is read as an escape."""
    return shortened(one_line(text), 40).replace("\\", "\\\\").replace('"', '\\"')


def sentences(index: UserIndex, chosen: str) -> list[str]:
    """Return the relations of a name as sentences, the latest first, each once."""
    found = (
        sorted(index.relations_of(chosen), key=lambda relation: (-relation.at, relation.id)) if chosen else []
    )
    return list(dict.fromkeys(graph.sentence(index, relation) for relation in found))
