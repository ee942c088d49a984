"""`athena`: each command parses its flags, calls one function of Athena and prints what it returns."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from io import TextIOWrapper
from typing import Annotated

import typer

from athena.cli import ask, ingest, mission, search, serving, upkeep
from athena.cli.memory import app as memory
from athena.cli.running import err
from athena.lazy import shorten_pauses
from pipeline.redaction import guard_output
from pipeline.words import NOTICES, harmless

app = typer.Typer(
    help="Ask your Markdown documentation, and get answers that cite the exact sentence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    ingest.ingest,
    serving.serve,
    ask.ask,
    ask.chat,
    ask.agent,
    search.search,
    mission.mission,
    upkeep.doctor,
    upkeep.backup,
    upkeep.migrate,
    upkeep.usage,
    serving.mcp,
):
    app.command()(command)
app.add_typer(memory, name="memory")
app.add_typer(serving.keys, name="keys")
if find_spec("evals"):
    from evals.commands import app as evaluate

    app.add_typer(evaluate, name="eval")


@app.callback()
def _options(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step to stderr.")] = False,
) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.ERROR, handlers=[Lines()])
    logging.getLogger(NOTICES).setLevel(logging.INFO)  # what a user should know although nothing failed


class Lines(logging.Handler):
    """Prints log records without control characters; of a notice for the user, it prints only the text."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record to stderr."""
        if record.name == NOTICES:
            err.print(record.getMessage(), style="yellow", markup=False)
        else:
            sys.stderr.write(f"{record.levelname} {record.name}: {harmless(self.format(record))}\n")


def main() -> None:
    """Run the command line."""
    shorten_pauses()
    guard_output()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # arguments and input may have undecodable bytes
            stream.reconfigure(errors="replace" if stream is sys.stdin else "backslashreplace")
    typer.main.get_command(app)()  # `app()` would print tracebacks its own way before ours
