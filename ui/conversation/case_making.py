"""An answer made into a case: its question is asked again after changes, and should find what is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from ui.conversation import whose
from ui.shared import messages, process
from ui.shared.corpus import sections_by_breadcrumb
from ui.shared.dialogs import end_dialog, open_dialog
from ui.shared.words import one_line, shortened

if TYPE_CHECKING:
    from pipeline.answer import Citation
    from pipeline.nodes import Node
    from pipeline.stores.conversations import Turn

NOTHING = "Nothing: it should have abstained"
TITLE = "What should have been found?"


def ask_to_make_case(turn: Turn) -> None:
    """Open the dialog that asks what an answer should have found."""
    open_dialog(TITLE, partial(_ask_for_gold, turn), width="medium")


def _ask_for_gold(turn: Turn) -> None:
    """Ask what an answer should have found, of a good one its first quote, and make it a case."""
    st.text(turn.question)
    if any(case.turn_id == turn.id for case in process.athena().cases.list(whose.user())):
        st.info("It is a case already, listed under Evaluation. Another one may ask for something else.")
    quotes = {f"Quote {item.marker}: {shortened(one_line(item.quote), 90)}": item
              for item in turn.answer.citations}  # fmt: skip
    sections = sections_by_breadcrumb()
    chosen = st.selectbox(
        "A section, a quote of the answer, or nothing", [NOTHING, *quotes, *sections],
        index=1 if turn.feedback == 1 and quotes else None,
        placeholder="Choose what should have been found", key=f"gold-{turn.id}",
    )  # fmt: skip
    st.caption(
        "It passes when an answer shows it or a part of it, or abstains where nothing was to be found."
    )
    if messages.confirmed(no="Leave it", yes="Make it a case", key="case", ready=chosen is not None):
        _keep(turn, [quotes[chosen]] if chosen in quotes else _whole(sections.get(chosen or NOTHING)))
        end_dialog()


def _whole(section: Node | None) -> list[Citation]:
    """A section as what should be found; nothing of None."""
    from evals.cases import gold_at

    if section is None:
        return []
    document = process.athena().store.sections.document(section.metadata["source"])
    return [gold_at(document, section.start_char_idx or 0, section.end_char_idx or len(document.text))]


def _keep(turn: Turn, gold: Sequence[Citation]) -> None:
    from evals.cases import new_case

    athena = process.athena()
    conversation = whose.get(athena.conversations.conversation_of(turn.id))
    athena.cases.put(new_case(conversation, turn.id, gold=gold))
