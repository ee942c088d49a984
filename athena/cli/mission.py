"""`athena mission`: the game in a terminal, with the real assistant."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from athena.cli.running import AsJson, DataDir, listed, opened, print_json, say_error, settings_with, show
from pipeline.errors import AthenaError, UnknownConversation

if TYPE_CHECKING:
    from athena import Athena
    from mission.game import Game

SILENT = "Athena has no answer. Ask again later, or go on."
STOPPED = "Stopped. Ask again, or go on."


def mission(
    level: Annotated[str | None, typer.Argument(help="A level's id or number; default: the next.")] = None,
    script: Annotated[Path | None, typer.Option(help="Run a file of commands, one a line.")] = None,
    list_levels: Annotated[bool, typer.Option("--list", help="List the levels.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Play: alone aboard with a fault, and only the manuals to help. Exit code 0: won; 1: lost or left.

    With a script, --json prints the level, whether it was won, and all that the console showed.
    """
    from athena.missions import mission_folder
    from mission import terminal
    from mission.errors import MissionError
    from mission.games import Games

    games = Games(mission_folder(settings_with(data_dir)))
    try:
        if list_levels:
            levels = terminal.list_levels(games.progress())
            columns = ("id", "title", "par_seconds", "completed")
            show(as_json, levels, lambda: listed(levels, columns))
            return
        lines = _commands(script) if script else None
        with opened(data_dir) as athena:
            ask = partial(_ask, athena)
            wanted = level or terminal.next_level(games.progress())
            shown: list[str] = []
            is_record = as_json and lines is not None
            write = shown.append if is_record else sys.stdout.write
            code = terminal.play(wanted, games, ask=ask, write=write, script=lines)
            if is_record:
                print_json({"level": wanted, "won": code == 0, "text": "".join(shown)})
    except MissionError as error:
        say_error(error)
        raise typer.Exit(2) from error
    raise typer.Exit(code)


def _ask(athena: Athena, game: Game, question: str) -> str:
    """Return the answer from the manuals, or a line that there is none; print an error to stderr."""
    from athena.cli.answers import plain_answer
    from athena.missions import mission_persona

    ask = partial(athena.ask, question, persona=mission_persona())
    try:
        try:
            answer = ask(conversation_id=game.conversation_id or None)
        except UnknownConversation:  # it was deleted meanwhile
            answer = ask()
    except AthenaError as error:
        say_error(error)
        return SILENT
    except KeyboardInterrupt:
        return STOPPED
    game.conversation_id = answer.conversation_id
    return plain_answer(answer)


def _commands(script: Path) -> list[str]:
    from mission.errors import MissionError

    try:
        return script.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MissionError(f"Cannot read the script '{script}': {error}.", "Check the path.") from error
