"""The scope of a conversation, and the tree above the question that limits it to some documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pipeline.stores.globs import only_in
from ui.conversation import whose
from ui.shared import messages
from ui.shared.collections import IN, draw_tree, globs_of, ticked_by
from ui.shared.state import kept
from ui.shared.words import plain

if TYPE_CHECKING:
    from pipeline.stores.base import DocumentInfo
    from pipeline.stores.conversations import Conversation


@dataclass(slots=True)
class NextScope:
    """The scope chosen on the page for the next new conversation."""

    globs: tuple[str, ...] = ()


def take_scope() -> tuple[str, ...]:
    """Return the scope chosen for the next new conversation, and reset it."""
    chosen = kept(NextScope)
    taken, chosen.globs = chosen.globs, ()
    return taken


def scope_bar(conversation: Conversation | None, documents: Sequence[DocumentInfo]) -> None:
    """Draw the conversation's scope and the tree that chooses it; a question closes the tree."""
    scope = conversation.info.scope if conversation else kept(NextScope).globs
    ticked = ticked_by(scope, documents)
    # The key changes with each answer, which closes the tree.
    at = f"{conversation.info.id}-{len(conversation.turns)}" if conversation else "new"
    # The label never changes: with another label, Streamlit would see a new widget, which is closed.
    chooser = st.popover("Only …", icon=":material/filter_alt:", type="tertiary", key=f"scope-{at}",
                         on_change="rerun")  # fmt: skip
    if chooser.open:
        with chooser:
            st.caption("Ask only the documents that you tick.")
            query = st.text_input("Search documents", key=f"find-{at}", placeholder="Search documents",
                                  label_visibility="collapsed", icon=":material/search:")  # fmt: skip
            draw_tree(
                f"scope-tree-{at}",
                documents,
                ticked,
                query=query,
                on_tick=lambda ticked: set_scope(conversation, globs_of(documents, ticked)),
            )
    if scope:
        has_folders = any(glob.endswith("/") for glob in scope)  # else the scope names each document
        names = [path.removesuffix(IN).rpartition(IN)[2] for path in ticked if has_folders]
        chosen = only_in(names or scope).removeprefix("only ")
        st.button(plain(chosen), type="tertiary", icon=":material/close:", key=f"everywhere-{at}",
                  help="Ask everywhere", on_click=set_scope, args=(conversation, ()))  # fmt: skip


@messages.noticed
def set_scope(conversation: Conversation | None, globs: Sequence[str]) -> None:
    """Limit a conversation (None = the next new one) to the documents that the globs match; () = all."""
    if conversation is None:
        kept(NextScope).globs = tuple(globs)
    else:
        whose.store_of(conversation.info.id).set_scope(conversation.info.id, globs)
