"""`athena usage`: what language models read, wrote and cost, by model, day and user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show

if TYPE_CHECKING:
    from athena.usage import UsageReport, UsageRow

COLUMNS = ("turns", "answered", "abstained", "tokens in", "out", "cost", "p95")
UNKNOWN = "-"


def usage(
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only what was asked from then on.")
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count tokens, cost, answers and abstentions in the stored conversations."""
    from athena.usage import usage as counted
    from memory.times import read_date

    with opened(data_dir) as athena:
        begun = None if since is None else read_date(since, name="--since", begin=True)
        found = counted(athena.conversations, user=user, since=begun)
    show(as_json, found, lambda: usage_text(found))


def usage_text(report: UsageReport) -> RenderableType:
    """The tables by model, day and user, and what the numbers leave open."""
    notes = []
    if report.total.estimated:
        notes.append("~ counted here: the model's server did not report all tokens.")
    if report.total.unpriced:
        notes.append(f"{report.total.unpriced:,} without a price: set ATHENA_PRICES.")
    named = {"model": report.by_model, "day": report.by_day, "user": report.by_user}
    tables = [_table(name, rows) for name, rows in named.items()]
    return Group(*tables, *map(Text, notes)) if report.total.turns else Text("Nothing was asked.")


def _table(name: str, rows: Mapping[str, UsageRow]) -> Table:
    table = Table(name, *COLUMNS, box=box.SIMPLE, padding=(0, 0, 0, 1))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for key, row in rows.items():
        table.add_row(key, *_cells(row))
    return table


def _cells(row: UsageRow) -> list[str]:
    about = "~" if row.estimated else ""
    return [
        f"{row.turns:,}",
        f"{row.answers:,}",
        f"{row.abstentions:,}",
        *(UNKNOWN if tokens is None else f"{about}{tokens:,}" for tokens in (row.tokens_in, row.tokens_out)),
        UNKNOWN if row.cost is None else f"{row.cost:,.4f}",
        UNKNOWN if row.p95_s is None else f"{row.p95_s:.1f} s",
    ]
