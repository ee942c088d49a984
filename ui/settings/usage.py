"""Usage: questions, tokens, cost and times, in sum and by model, day and user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from athena.usage import usage as count
from ui.shared import process

if TYPE_CHECKING:
    from athena.usage import UsageRow

EMPTY = "Nothing was asked yet. You will see questions and tokens here."
NO_PRICE = (
    "of these asked a language model without a price. Set `ATHENA_PRICES` to the price of 1,000 tokens of "
    "each model to keep the cost of later answers."
)
ESTIMATED = "~ was counted here: the model's server did not report all tokens."
UNKNOWN = "–"


def usage() -> None:
    """Draw the usage of everybody."""
    st.subheader("Usage", anchor=False)
    found = count(process.athena().conversations)
    if not found.total.turns:
        st.text(EMPTY)
        return
    with st.container(horizontal=True, gap="medium", key="usage-sum"):
        for name, value in cells(found.total).items():
            st.metric(name, value, width="content")
    if found.total.estimated:
        st.caption(ESTIMATED)
    if found.total.unpriced:
        st.caption(f"{found.total.unpriced:,} {NO_PRICE}")
    for name, rows in (("Model", found.by_model), ("Day", found.by_day), ("User", found.by_user)):
        with st.expander(f"By {name.lower()}"):
            st.dataframe([{name: key, **cells(row)} for key, row in rows.items()], hide_index=True)


def cells(row: UsageRow) -> dict[str, str]:
    """Return a row as texts; unknown values are dashes."""
    about = "~" if row.estimated else ""

    def tokens(count: int | None) -> str:
        return UNKNOWN if count is None else f"{about}{count:,}"

    return {
        "Questions": f"{row.turns:,}",
        "Answered": f"{row.answers:,}",
        "Not answered": f"{row.abstentions:,}",
        "Tokens in": tokens(row.tokens_in),
        "Tokens out": tokens(row.tokens_out),
        "Cost": UNKNOWN if row.cost is None else f"{row.cost:,.4f}",
        "p95": UNKNOWN if row.p95_s is None else f"{row.p95_s:.1f} s",
    }
