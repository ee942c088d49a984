"""Taking memories along: export as JSON or Markdown, and import of either program's JSON, checked first."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pipeline.errors import AthenaError
from ui.conversation.forgetting import user_memory
from ui.shared import messages
from ui.shared.state import kept
from ui.shared.words import memories, one_line, plain, shortened

SHOWN = 5
NOT_TEXT = "This is not an export of memories: it is not UTF-8."
WHAT = "Choose a file that was exported here, or one with `documents`, `metadatas` and `ids`."


@dataclass(slots=True)
class ImportRound:
    """How often something was imported in this session: each time the uploader is a new, empty one."""

    number: int = 0


def taking_along() -> None:
    """Draw the buttons to export, and the field for a file to import."""
    memory = user_memory()
    with st.container(horizontal=True):
        st.download_button("Export as JSON", data=lambda: memory.export(), file_name="memories.json",
                           mime="application/json", icon=":material/download:", on_click="ignore",
                           key="export-json")  # fmt: skip
        st.download_button("Export as Markdown", data=lambda: memory.export(form="markdown"),
                           file_name="memories.md", mime="text/markdown", icon=":material/download:",
                           on_click="ignore", key="export-markdown")  # fmt: skip
    sent = st.file_uploader("Import a JSON file", type=["json"], key=f"import-{kept(ImportRound).number}")
    if sent is None:
        return
    try:
        data = sent.getvalue().decode("utf-8")
    except UnicodeDecodeError:
        messages.show_error(NOT_TEXT, WHAT)
        return
    _confirm(data)


def _confirm(data: str) -> None:
    try:
        found = user_memory().would_import(data)
    except AthenaError as error:
        messages.show_error(error.problem, WHAT)
        return
    if not found:
        st.text("Everything in this file is remembered already.")
        return
    st.text(f"This would add {memories(len(found))}:")
    for memory in found[:SHOWN]:
        st.text(f"· {shortened(one_line(memory.text), 160)}")
    if len(found) > SHOWN:
        st.caption(f"and {len(found) - SHOWN:,} more")
    st.button(plain(f"Import {memories(len(found))}"), type="primary", key="import", on_click=_import,
              args=(data,))  # fmt: skip


@messages.noticed
def _import(data: str) -> None:
    user_memory().import_(data)
    kept(ImportRound).number += 1  # an empty uploader next
