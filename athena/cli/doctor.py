"""`athena doctor`: whether everything works, and how to fix what does not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show
from pipeline.words import counted

if TYPE_CHECKING:
    from athena.diagnosis import Diagnosis
    from pipeline.stores.embedded.damage import Salvage


def doctor(
    data_dir: DataDir = None,
    salvage: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Copy what can be read of a damaged data folder into a new one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that everything works, and say what to do about what does not."""
    if salvage:
        _salvage(data_dir, salvage, as_json=as_json)
        return
    from athena.diagnosis import diagnose

    with opened(data_dir) as athena:
        diagnosis = diagnose(athena)
    show(as_json, asdict(diagnosis), lambda: doctor_text(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(1)


def _salvage(data_dir: Path | None, into: Path, *, as_json: bool) -> None:
    from pipeline.stores.embedded.damage import salvage

    with opened(data_dir) as athena:
        saved = salvage(athena.settings.data_dir, into)
    show(as_json, asdict(saved), lambda: salvage_text(saved, into))


def doctor_text(diagnosis: Diagnosis) -> RenderableType:
    """Each check with a tick, a dash (it works without) or a cross, and how to fix it."""
    lines: list[RenderableType] = []
    for check in diagnosis.checks:
        mark = ("✗ ", "red") if not check.ok else ("– ", "yellow") if check.fix else ("✓ ", "green")
        lines.append(Text.assemble(mark, (f"{check.name}: ", "bold"), check.detail))
        if check.fix:
            lines.append(Text(f"    {check.fix}", style="dim" if check.ok else "yellow"))
    return Group(*lines)


def salvage_text(saved: Salvage, into: Path) -> RenderableType:
    """What was saved, what is lost, and how to go on."""
    counts = (
        counted(saved.documents, "document"),
        counted(saved.conversations, "conversation"),
        counted(saved.turns, "answer"),
        counted(saved.memories, "memory"),
    )
    lost = [Text(f"Lost: {source}", style="yellow") for source in saved.lost]
    return Group(
        Text(f"Saved in '{into}': {', '.join(counts)}."),
        *lost,
        Text(f"`athena ingest FOLDER --data-dir {into}` restores the documents from their files."),
    )
