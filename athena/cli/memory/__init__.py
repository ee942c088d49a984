"""`athena memory`: what is remembered about a user: seen, searched, changed, forgotten, taken along."""

from __future__ import annotations

import typer

from athena.cli.memory import edit_commands, read_commands, transfer_commands, upkeep_commands

app = typer.Typer(help="What is remembered: see it, change it, forget it.", no_args_is_help=True)
for command in (
    read_commands.list_,
    read_commands.search,
    read_commands.stream,
    read_commands.entities,
    edit_commands.add,
    edit_commands.edit,
    edit_commands.pin,
    edit_commands.resolve,
    edit_commands.forget,
    read_commands.history,
    transfer_commands.export,
    transfer_commands.import_,
    read_commands.stats,
    upkeep_commands.rate,
    upkeep_commands.reflect,
    upkeep_commands.plan,
    upkeep_commands.summarize,
    upkeep_commands.migrate,
):
    app.command(command.__name__.rstrip("_"))(command)
