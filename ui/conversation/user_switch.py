"""The switch to another user's conversations and memories, as sidebars show it."""

from __future__ import annotations

import streamlit as st

from ui.conversation import whose
from ui.shared.words import plain

NO_PROTECTION = (
    "Conversations and memories are kept by name. Names are no protection: "
    "whoever opens this page can choose any of them."
)
NAME = "another-user"


def user_switch() -> None:
    """Whose conversations and memories these are, and the switch to another name."""
    current = whose.user()
    with st.popover(plain(current), icon=":material/person:", help="Switch to another name", width="stretch"):
        st.caption(NO_PROTECTION)
        for name in whose.known_users():
            st.button(
                plain(name),
                key=f"user-{name}",
                type="tertiary",
                icon=":material/check:" if name == current else None,
                disabled=name == current,
                on_click=whose.switch_to,
                args=(name,),
            )
        st.text_input(
            "Another name",
            key=f"{NAME}-{current}",  # another field for another user: empty again
            max_chars=whose.LONGEST_NAME,
            on_change=whose.switch_to_entered,
            args=(f"{NAME}-{current}",),
        )
