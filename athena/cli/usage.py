"""`athena usage`: what language models read, wrote and cost, by model, day and user."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show, table

if TYPE_CHECKING:
    from athena.usage import UsageReport, UsageRow

COLUMNS = ("turns", "answered", "abstained", "tokens in", "out", "cost", "p95")
UNKNOWN = "-"


def usage(
    since: Annotated[
        datetime | None, typer.Option("--since", metavar="DATE", help="Only what was asked from then on.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count tokens, cost, answers and abstentions in the stored conversations."""
    from athena.usage import usage as count

    with opened(data_dir) as athena:
        found = count(athena.conversations, user=user, since=since.timestamp() if since else None)
    show(as_json, found, lambda: usage_text(found))


def usage_text(report: UsageReport) -> RenderableType:
    """Return the tables by model, day and user, and notes on estimated tokens and unknown costs."""
    if not report.total.turns:
        return Text("Nothing was asked.")
    named = {"model": report.by_model, "day": report.by_day, "user": report.by_user}
    lines: list[RenderableType] = [
        table((name, *COLUMNS), [(key, *_cells(row)) for key, row in rows.items()], numbers=True)
        for name, rows in named.items()
    ]
    if report.total.estimated:
        lines.append(Text("~ counted here: the model's server did not report all tokens."))
    if report.total.unpriced:
        lines.append(Text(f"{report.total.unpriced:,} without a price: set ATHENA_PRICES."))
    return Group(*lines)


def _cells(row: UsageRow) -> list[str]:
    about = "~" if row.estimated else ""
    tokens = [
        UNKNOWN if number is None else f"{about}{number:,}" for number in (row.tokens_in, row.tokens_out)
    ]
    cost = UNKNOWN if row.cost is None else f"{row.cost:,.4f}"
    p95 = UNKNOWN if row.p95_s is None else f"{row.p95_s:.1f} s"
    return [f"{row.turns:,}", f"{row.answers:,}", f"{row.abstentions:,}", *tokens, cost, p95]
