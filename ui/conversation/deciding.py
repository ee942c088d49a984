"""What is to be decided: sides of a dispute, and what a document no longer says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from memory.deciding import edits
from memory.deciding.decisions import sides_of
from ui.conversation.forgetting import ask_to_forget, user_memory
from ui.conversation.memory_rows import source_label, when
from ui.conversation.source import FORGOTTEN_SINCE, ask_for_source
from ui.shared import messages
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.words import plain, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

ALONE = "No other fact is kept that it could contradict."
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


def ask_what_contradicts(memory_id: str) -> None:
    """Ask which other fact one contradicts."""
    open_dialog("What does it contradict?", partial(contradicting, memory_id))


def ask_to_decide(memory_id: str) -> None:
    """Let the dispute of a fact be decided in a dialog."""
    open_dialog("Which is right?", partial(deciding, memory_id), width="medium")


def contradicting(memory_id: str) -> None:
    """Choose the fact that one contradicts: both stay, until it is decided which is right."""
    memory = user_memory()
    facts = {item.id: item.text for item in memory.list() if item.tier != "static" and item.live}
    said = facts.pop(memory_id, None)
    if said is None:
        st.text(FORGOTTEN_SINCE)
        return
    st.markdown(f"**{plain(said)}**")
    if not facts:
        st.text(ALONE)
        return
    other = st.selectbox(
        "It contradicts", list(facts), index=None, key="contradicted", placeholder="Choose a fact",
        format_func=lambda known: shortened(facts[known], 120),
    )  # fmt: skip
    st.caption("Both are kept. Until you decide which is right, they are recalled together or not at all.")
    if messages.confirmed(no="Cancel", yes="They contradict", key="contradict", ready=other is not None):
        edits.contradict(memory, memory_id, str(other))
        end_dialog()


def deciding(memory_id: str) -> None:
    """Draw the dispute of a fact alone."""
    memory = user_memory()
    known = memory.index.memories.get(memory_id)
    sides = sides_of(memory.index, known) if known else ()
    if not sides:
        st.text("That is decided.")
        return
    _dispute(sides)


def _dispute(sides: Sequence[Memory]) -> None:
    first, two = sides[0].id, len(sides) == 2
    with st.container(border=True, key=f"dispute-{first}"):
        for side in sides:
            with st.container(horizontal=True, vertical_alignment="center"):
                _said(side)
                st.button("This is right", key=f"right-{side.id}", on_click=_decide,
                          args=(side.id, edits.resolve))  # fmt: skip
        with st.container(horizontal=True):
            st.button("Both are right" if two else "All of them are right", key=f"both-{first}",
                      type="tertiary", icon=":material/join_inner:", on_click=_decide,
                      args=(first, partial(edits.resolve, believe=None)))  # fmt: skip
            st.button("Neither: forget them" if two else "None: forget them", key=f"none-{first}",
                      type="tertiary", icon=":material/delete:", on_click=ask_to_forget,
                      args=([side.id for side in sides],))  # fmt: skip


def _stale(memory: Memory) -> None:
    with st.container(border=True, key=f"stale-{memory.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            _said(memory)
            st.button("Still true", key=f"still-{memory.id}", on_click=_decide,
                      args=(memory.id, edits.keep_stale))  # fmt: skip
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
def _decide(memory_id: str, decision: Callable[[UserMemory, str], object]) -> None:
    """Decide what is still open: nothing where a click before this one, or another window, did."""
    memory = user_memory()
    known = memory.index.memories.get(memory_id)
    if known is not None and (known.disputed or known.stale):
        decision(memory, memory_id)
