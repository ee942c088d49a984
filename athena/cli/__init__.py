"""`athena`: each command parses its flags, calls one function of Athena and prints what it returns."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from athena.cli import ask, ingest, mission, search, serving, upkeep
from athena.cli.memory import app as memory
from athena.cli.running import err
from athena.cli.terminal import HarmlessLines, standard_streams
from athena.warming import collect_garbage_rarely
from pipeline.notices import NOTICES
from pipeline.redaction import guard_output

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
if find_spec("evals.commands"):
    from evals.commands import app as evaluate

    app.add_typer(evaluate, name="eval")


@app.callback()
def _options(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log each step to stderr.")] = False,
) -> None:
    level = logging.INFO if verbose else logging.ERROR
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(HarmlessLines("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    show_notices()


class NoticeLines(logging.Handler):
    """Prints each notice for the user as a line, whatever else is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a notice."""
        err.print(record.getMessage(), style="yellow", markup=False)


def show_notices() -> None:
    """Print what a user should know although nothing failed."""
    logger = logging.getLogger(NOTICES)
    logger.handlers, logger.propagate = [NoticeLines()], False
    logger.setLevel(logging.INFO)


def main() -> None:
    """Run the command line."""
    collect_garbage_rarely()
    guard_output()
    with standard_streams():
        typer.main.get_command(app)()  # `app()` would print tracebacks its own way before ours
