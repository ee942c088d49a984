"""`athena mission`: the game in a terminal, with the real assistant."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from athena.cli.running import AsJson, DataDir, listed, opened, say_error, settings_with, show

if TYPE_CHECKING:
    from athena import Athena
    from mission.games import Games
    from pipeline.answer import Answer

SILENT = "Athena has no answer. Ask again later, or go on."
STOPPED = "Stopped. Ask again, or go on."
NOTHING_ASKED = "Nothing was asked yet."


def mission(
    level: Annotated[str | None, typer.Argument(help="A level's id or number; default: the next.")] = None,
    script: Annotated[Path | None, typer.Option(help="Run a file of commands, one a line.")] = None,
    list_levels: Annotated[bool, typer.Option("--list", help="List the levels.")] = False,
    story: Annotated[bool, typer.Option("--story", help="Print the story before the first level.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Play: alone aboard with a fault, and only the manuals to help. Exit code 0 is a crisis averted."""
    from athena.missions import mission_folder
    from mission import terminal
    from mission.errors import MissionError

    folder = mission_folder(settings_with(data_dir))
    try:
        if list_levels:
            levels = terminal.list_levels(folder / "progress.json")
            columns = ("id", "title", "par_seconds", "completed")
            show(as_json, levels, lambda: listed(levels, columns))
            return
        if story:
            typer.echo("\n".join(terminal.story()).lstrip())
            return
        with opened(data_dir) as athena:
            code = _play(athena, level, folder=folder, script=script)
    except MissionError as error:
        say_error(error)
        raise typer.Exit(2) from error
    raise typer.Exit(code)


def _play(athena: Athena, level: str | None, *, folder: Path, script: Path | None) -> int:
    """Play a level and return the exit code; a game at a prompt is saved for later, a script's is not."""
    from mission.games import Games
    from mission.levels import level_of
    from mission.terminal import next_level, play

    progress = folder / "progress.json"
    wanted = level_of(level or next_level(progress)).id
    save = None if script else folder / f"{wanted}.json"
    with tempfile.TemporaryDirectory() as own:
        games = Games(Path(own) if script else folder)
        if save and not save.exists():
            games.discard(wanted)  # the conversation of an earlier game
        assistant = Assistant(athena, games, wanted)
        return play(
            wanted,
            ask=assistant.ask,
            more=assistant.more,
            write=sys.stdout.write,
            script=_commands(script) if script else None,
            progress=progress,
            save=save,
        )


class Assistant:
    """The console's `ask` and `more`: one conversation a game."""

    def __init__(self, athena: Athena, games: Games, level: str) -> None:
        self._athena, self._games, self._level = athena, games, level
        self._last: Answer | None = None

    def ask(self, question: str) -> str:
        """Return the answer from the manuals, or a line that says why there is none; the game goes on."""
        from athena.cli.answers import ask_quietly, plain_answer
        from athena.missions import mission_persona
        from pipeline.errors import AthenaError

        try:
            chat = self._athena.chat(conversation_id=self._conversation(), persona=mission_persona())
            self._last = ask_quietly(chat, question)
        except AthenaError as error:
            say_error(error)
            return SILENT
        except KeyboardInterrupt:
            return STOPPED
        self._games.keep_conversation(self._level, chat.conversation_id)
        return plain_answer(self._last)

    def more(self, which: str) -> str:
        """Return the passages that the last answer only named, or the one with this number."""
        from athena.cli.answers import plain_passages

        return plain_passages(self._last, which) if self._last else NOTHING_ASKED

    def _conversation(self) -> str | None:
        """Return the id of the game's conversation; None before the first question, or once it is deleted."""
        from pipeline.errors import UnknownConversation

        wanted = self._games.conversation(self._level)
        try:
            return self._athena.conversations.get(wanted).info.id if wanted else None
        except UnknownConversation:
            return None


def _commands(script: Path) -> list[str]:
    from mission.errors import LevelError
    from pipeline.given_files import read_given

    try:
        return read_given(script).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LevelError(f"Cannot read the script '{script}': {error}.", "Check the path.") from error
