"""What is to be decided: sides of a dispute, and what a document no longer says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from memory import edits
from ui.conversation.forgetting import ask_to_forget, user_memory
from ui.memory.rows import source_label, when
from ui.memory.source import ask_for_source
from ui.shared import messages
from ui.shared.words import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.stores.memories import Memory

NOTHING = "Nothing is to be decided: no two memories contradict each other, and no document has changed."


def disputes(listed: Sequence[Memory]) -> list[list[Memory]]:
    """The sides of each dispute, the oldest side first."""
    groups: dict[str, list[Memory]] = defaultdict(list)
    for memory in sorted(listed, key=lambda memory: (memory.created_at, memory.id)):
        if memory.disputed:
            groups[memory.disputed].append(memory)
    return list(groups.values())


def stale(listed: Sequence[Memory]) -> list[Memory]:
    """What comes from passages that are not there any more."""
    return [memory for memory in listed if memory.stale]


def to_decide(listed: Sequence[Memory]) -> None:
    """Draw what is disputed or stale, with the ways out."""
    contradicting, changed = disputes(listed), stale(listed)
    if not (contradicting or changed):
        st.text(NOTHING)
        return
    if contradicting:
        st.subheader("Which is right?", anchor=False)
        st.caption("Until you decide, these are recalled together or not at all.")
    for sides in contradicting:
        _dispute(sides)
    if changed:
        st.subheader("Still true?", anchor=False)
        st.caption("The document does not say this any more. It is not recalled.")
    for memory in changed:
        _stale(memory)


def _dispute(sides: Sequence[Memory]) -> None:
    with st.container(border=True, key=f"dispute-{sides[0].id}"):
        for side in sides:
            with st.container(horizontal=True, vertical_alignment="center"):
                _said(side)
                st.button(
                    "This is right",
                    key=f"right-{side.id}",
                    on_click=_decide,
                    args=(lambda side=side: edits.resolve(user_memory(), side.id),),
                )
        with st.container(horizontal=True):
            st.button(
                "Both are right" if len(sides) == 2 else "All of them are right",
                key=f"both-{sides[0].id}",
                type="tertiary",
                on_click=_decide,
                icon=":material/join_inner:",
                args=(lambda: edits.keep_both(user_memory(), sides[0].id),),
            )
            st.button(
                "Neither: forget them" if len(sides) == 2 else "None: forget them",
                key=f"none-{sides[0].id}",
                type="tertiary",
                on_click=ask_to_forget,
                icon=":material/delete:",
                args=([side.id for side in sides],),
            )


def _stale(memory: Memory) -> None:
    with st.container(border=True, key=f"stale-{memory.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            _said(memory)
            st.button(
                "Still true",
                key=f"still-{memory.id}",
                on_click=_decide,
                args=(lambda: edits.keep_stale(user_memory(), memory.id),),
            )
        with st.container(horizontal=True):
            st.button("What it rested on", key=f"rested-{memory.id}", type="tertiary",
                      icon=":material/link_off:", on_click=ask_for_source, args=(memory.id,))  # fmt: skip
            st.button("Forget", key=f"outdated-{memory.id}", type="tertiary", icon=":material/delete:",
                      on_click=ask_to_forget, args=([memory.id],))  # fmt: skip


def _said(memory: Memory) -> None:
    with st.container(gap=None, width="stretch"):
        st.markdown(plain(memory.text))
        st.caption(plain(" · ".join(filter(None, [when(memory), source_label(memory)]))))


@messages.noticed
def _decide(decision: Callable[[], object]) -> None:
    decision()
