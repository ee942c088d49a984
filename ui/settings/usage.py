"""Usage: tokens, cost, answers and how long they took, by model, day and user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING

import streamlit as st

from ui.conversation import whose
from ui.shared import process
from ui.shared.state import kept

if TYPE_CHECKING:
    from athena.usage import UsageReport, UsageRow

EMPTY = "Nothing was asked yet. Each answer is counted here, with its tokens where a language model wrote it."
NO_PRICE = (
    "of these asked a language model that has no price: set `ATHENA_PRICES` to what "
    "1,000 tokens of each model cost. From then on each turn keeps its cost."
)
ESTIMATED = "~ was counted here, as the model's server did not report all tokens."
PLOTTED = {"Turns": "turns", "Tokens in": "tokens_in", "Tokens out": "tokens_out", "Cost": "cost",
           "p95, s": "p95_s"}  # fmt: skip
UNKNOWN = "–"


@dataclass(slots=True)
class Counted:
    """What was counted last, and of what: turns are read again once a conversation has changed."""

    of: tuple[object, ...] = ()
    report: UsageReport | None = None


def usage() -> None:
    """Draw tokens, cost and times since a chosen day: in sum, day by day, by model and by user."""
    st.subheader("Usage", anchor=False)
    left, right = st.columns(2)
    since = left.date_input("Since", value=None, key="usage-since", max_value="today")
    everybody = right.selectbox("Of", ["Everybody", whose.user()], key="usage-of") == "Everybody"
    found = _counted(None if everybody else whose.user(), _at(since))
    if not found.total.turns:
        st.text(EMPTY)
        return
    _sum(found.total)
    plotted = st.selectbox("Day by day", list(PLOTTED), key="usage-plot")
    rows = [
        {"day": day, "value": value}
        for day, row in sorted(found.by_day.items())
        if (value := getattr(row, PLOTTED[plotted])) is not None
    ]
    if rows:
        st.bar_chart(rows, x="day", y="value", x_label="", y_label=plotted, height=220)
    else:
        st.caption("Nothing of it is known.")
    _tables(found)


def _counted(user: str | None, since: float | None) -> UsageReport:
    from athena.usage import usage as count

    stored, last = process.athena().conversations, kept(Counted)
    of = (user, since, *stored.list(user=user))
    if last.report is None or last.of != of:
        last.of, last.report = of, count(stored, user=user, since=since)
    return last.report


def _at(day: date | None) -> float | None:
    return datetime.combine(day, time.min).timestamp() if day else None


def _sum(total: UsageRow) -> None:
    cells = _cells(total)
    with st.container(horizontal=True, gap="medium", key="usage-sum"):
        for name in ("Turns", "Answered", "Abstained", "Tokens in", "Tokens out", "Cost", "p95"):
            st.metric(name, cells[name], width="content")
    if total.estimated:
        st.caption(ESTIMATED)
    if total.unpriced:
        st.caption(f"{total.unpriced:,} {NO_PRICE}")


def _tables(found: UsageReport) -> None:
    named: Mapping[str, Mapping[str, UsageRow]] = {
        "Model": found.by_model, "Day": found.by_day, "User": found.by_user
    }  # fmt: skip
    for name, rows in named.items():
        st.markdown(f"**By {name.lower()}**")
        st.dataframe([{name: key, **_cells(row)} for key, row in rows.items()], hide_index=True)


def _cells(row: UsageRow) -> dict[str, str]:
    """A row in words; what is not known is no 0."""
    about = "~" if row.estimated else ""

    def tokens(count: int | None) -> str:
        return UNKNOWN if count is None else f"{about}{count:,}"

    return {
        "Turns": f"{row.turns:,}",
        "Answered": f"{row.answers:,}",
        "Abstained": f"{row.abstentions:,}",
        "Tokens in": tokens(row.tokens_in),
        "Tokens out": tokens(row.tokens_out),
        "Cost": UNKNOWN if row.cost is None else f"{row.cost:,.4f}",
        "p95": UNKNOWN if row.p95_s is None else f"{row.p95_s:.1f} s",
    }
