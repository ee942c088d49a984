"""Usage: tokens, cost, answers and how long they took, in sum and by model, day and user."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import TYPE_CHECKING

import streamlit as st

from ui.conversation import whose
from ui.shared import process

if TYPE_CHECKING:
    from athena.usage import UsageRow

EMPTY = "Nothing was asked yet. Each answer is counted here, with its tokens where a language model wrote it."
NO_PRICE = (
    "of these asked a language model that has no price. Set `ATHENA_PRICES` to what 1,000 tokens of each "
    "model cost, and each answer from then on keeps its cost."
)
ESTIMATED = "~ was counted here: the model's server did not report all tokens."
UNKNOWN = "–"


def usage() -> None:
    """Draw tokens, cost and times since a chosen day."""
    from athena.usage import usage as count

    st.subheader("Usage", anchor=False)
    left, right = st.columns(2)
    since = left.date_input("Since", value=None, key="usage-since", max_value="today")
    mine = right.selectbox("Of", ["Everybody", whose.user()], key="usage-of") != "Everybody"
    found = count(process.athena().conversations, user=whose.user() if mine else None, since=_at(since))
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
    days = [{"day": day, "answers": row.turns} for day, row in sorted(found.by_day.items())]
    st.bar_chart(days, x="day", y="answers", x_label="", y_label="Questions", height=220)
    for name, rows in (("Model", found.by_model), ("Day", found.by_day), ("User", found.by_user)):
        with st.expander(f"By {name.lower()}"):
            st.dataframe([{name: key, **cells(row)} for key, row in rows.items()], hide_index=True)


def _at(day: date | None) -> float | None:
    return datetime.combine(day, time.min).timestamp() if day else None


def cells(row: UsageRow) -> dict[str, str]:
    """Return a row in words; what is not known is no 0."""
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
