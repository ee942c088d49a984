"""Our own Streamlit components: chips inside text, the evidence pane, the console. No iframe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

FOLDER = Path(__file__).parent
SHEET = f"<style>{FOLDER.with_name('style.css').read_text(encoding='utf-8')}</style>"

Renderer = Callable[..., Any]


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _component(name: str) -> Renderer:
    """Make a component from the shared code, `name.js` and, if it exists, `name.css`."""
    css = FOLDER / f"{name}.css"
    return st.components.v2.component(
        f"athena_{name}",
        css=_read("base.css") + (css.read_text(encoding="utf-8") if css.exists() else ""),
        js=_read("dom.js") + _read(f"{name}.js"),
    )


turn: Renderer = _component("turn")
copy: Renderer = _component("copy")
pane: Renderer = _component("pane")
document: Renderer = _component("document")
tree: Renderer = _component("tree")
follow: Renderer = _component("follow")
flow: Renderer = _component("flow")
console: Renderer = _component("console")
ship: Renderer = _component("ship")
strip: Renderer = _component("strip")
_whole: Renderer = _component("whole")
_focus: Renderer = _component("focus")


def whole_page() -> None:
    """Insert our style sheet, which is constant, and the script for the whole page (`whole.js`)."""
    st.html(SHEET)
    with st.container(key="whole"):
        _whole(key="whole-page")


def focus_first_field() -> None:
    """Focus the first text field of the dialog that calls this."""
    with st.container(key="focus"):
        _focus(key="focus-first")
