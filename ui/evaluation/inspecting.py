"""A question of an evaluation, asked now and shown in the inspector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.stores.globs import as_globs
from ui.conversation import whose
from ui.shared import links, process, state

if TYPE_CHECKING:
    from pipeline.messages import Message


def inspect_button(
    question: str, *, key: str, history: Sequence[Message] = (), scope: Sequence[str] = ()
) -> None:
    """Draw the button that asks it, in a private conversation, and leaves for the inspector."""
    what = "Ask it now, in a private conversation: how it is found, and what if."
    if not st.button("Inspect", key=key, icon=":material/account_tree:", type="tertiary", help=what):
        return
    with st.spinner("Asking …"):
        answer = process.athena().ask(
            question, history=history or None, paths=as_globs(scope), private=True, user=whose.user()
        )
    state.shared().inspected = answer.turn_id
    links.go("inspector", c=answer.conversation_id)
