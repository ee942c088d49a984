"""The style sheet of the pages: what a theme cannot say."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

from ui.shared import components

SHEET = Path(__file__).with_name("style.css")


@cache
def _sheet() -> str:
    return f"<style>{SHEET.read_text(encoding='utf-8')}</style>"


def apply() -> None:
    """Apply our own style sheet (a constant of the program: nothing from outside goes into it)."""
    st.html(_sheet())
    with st.container(key="whole"):
        components.whole(key="whole-page")
