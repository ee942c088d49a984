"""Our own Streamlit components: chips inside text, a pane, pictures. No iframe, no HTML made of data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

FOLDER = Path(__file__).parent

Renderer = Callable[..., Any]


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _component(name: str) -> Renderer:
    """A component from `name.js` and `name.css`, after what all of them share."""
    css = FOLDER / f"{name}.css"
    return st.components.v2.component(
        f"athena_{name}",
        css=_read("base.css") + (css.read_text(encoding="utf-8") if css.exists() else ""),
        js=_read("dom.js") + _read(f"{name}.js"),
    )


turn: Renderer = _component("turn")
pane: Renderer = _component("pane")
whole: Renderer = _component("whole")
flow: Renderer = _component("flow")
files: Renderer = _component("files")
document: Renderer = _component("document")
console: Renderer = _component("console")
ship: Renderer = _component("ship")
strip: Renderer = _component("strip")
follow: Renderer = _component("follow")
memories: Renderer = _component("memories")
graph: Renderer = _component("graph")
scope: Renderer = _component("scope")
