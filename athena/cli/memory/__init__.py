"""`athena memory`: what is remembered about a user: seen, searched, changed, forgotten, taken along."""

from __future__ import annotations

import typer

from athena.cli.memory import changing, reading, transfer, upkeep

app = typer.Typer(help="What is remembered: see it, change it, forget it.", no_args_is_help=True)
for command in (
    reading.list_,
    reading.search,
    changing.add,
    changing.edit,
    changing.pin,
    changing.resolve,
    changing.forget,
    reading.history,
    transfer.export,
    transfer.import_,
    reading.stats,
    upkeep.rate,
    upkeep.reflect,
    upkeep.plan,
    upkeep.summarize,
    upkeep.migrate,
):
    app.command(command.__name__.rstrip("_"))(command)
