"""The graph of remembered names and their relations, drawn by Graphviz in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from memory import graph
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from memory.index import UserIndex
    from memory.user_memory import UserMemory

DRAWN = 36  # most names drawn: with more, the graph cannot be read
COLOURS = {
    "light": ("#1d2227", "#5c5a54", "#0b666b", "#e3efee"),
    "dark": ("#e6e8ea", "#a4adb7", "#5cc4c0", "#1b2f31"),
}
"""Colours of names, relations, outlines and backgrounds, by theme."""


def graph_of(memory: UserMemory) -> None:
    """Draw the graph, if the memory has relations."""
    with memory.index.lock:
        if memory.index.relations:
            drawn = dot(memory.index, theme=st.context.theme.type or "light")
            with st.expander("Names and how they relate", icon=":material/hub:"):
                st.graphviz_chart(drawn, width="content", alt="Names and how they relate")


def dot(index: UserIndex, *, theme: str) -> str:
    """Return the graph of the `DRAWN` most frequent names that have a relation, in the DOT language."""
    text, quiet, line, ground = COLOURS[theme]
    edges: dict[tuple[str, str], list[str]] = {}
    for one in index.relations.values():
        pair = (one.subject_id, one.object_id)
        if pair[0] != pair[1] and one.label not in edges.setdefault(pair, []):
            edges[pair].append(one.label)
    frequent = [known.id for known in graph.entity_knowledge(index)] or [*index.entities]
    related = {known for pair in edges for known in pair}
    drawn = [known for known in frequent if known in related][:DRAWN]
    numbers = {known: f"n{number}" for number, known in enumerate(drawn)}
    nodes = [f'{number} [label="{_quoted(index.entities[known].name)}"]' for known, number in numbers.items()]
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
    """Return a text as the inside of a quoted label: one short line, with quotes and backslashes escaped."""
    return shortened(one_line(text), 40).replace("\\", "\\\\").replace('"', '\\"')
