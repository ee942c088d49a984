"""The mission in a terminal, with the real assistant: `athena mission`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import RenderableType
from rich.table import Table

from athena.missions import mission_persona
from mission.errors import LevelError
from mission.game import Ask
from mission.levels import level_of
from mission.terminal import next_level, play

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.chat import ChatRecipe


def levels_text(levels: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The levels with their par times, and which were won."""
    table = Table(box=box.SIMPLE)
    for column in ("level", "title", "par", "won"):
        table.add_column(column)
    for level in levels:
        par = f"{int(level['par_seconds']) // 60} min"
        table.add_row(str(level["id"]), str(level["title"]), par, "✓" if level["completed"] else "")
    return table


def play_level(
    athena: Athena,
    level: str | None,
    *,
    folder: Path,
    script: Path | None,
    easy: bool,
    seed: int,
) -> int:
    """Play a level and return the exit code; a game at a prompt is kept for later, a script's is not."""
    folder.mkdir(parents=True, exist_ok=True)
    progress = folder / "progress.json"
    wanted = level_of(level or next_level(progress)).id
    return play(
        wanted,
        ask=assistant(athena),
        write=sys.stdout.write,
        script=_commands(script) if script else None,
        seed=seed,
        easy=easy,
        progress=progress,
        save=None if script else folder / f"{wanted}.json",
    )


def assistant(athena: Athena) -> Ask:
    """The assistant for the console's `ask`: one conversation a game; sources under the answer.

    In the easier mode a language model is told the telemetry; it is not searched for.
    """
    engine: ChatRecipe | None = None

    def ask(question: str, telemetry: str) -> str:
        from athena.cli.terminal import ask_quietly

        nonlocal engine
        told = mission_persona(telemetry)
        engine = athena.chat(conversation_id=engine.conversation_id if engine else None, persona=told)
        answer = ask_quietly(engine, question)
        sources = [f"[{c.marker}] {' > '.join([c.source, *c.heading_path])}" for c in answer.citations]
        return "\n".join([answer.text, "", *sources]).strip()

    return ask


def _commands(script: Path) -> list[str]:
    try:
        return script.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LevelError(f"Cannot read the script '{script}': {error}.", "Check the path.") from error
