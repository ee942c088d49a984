"""`athena doctor`: whether everything works, and how to fix what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show

if TYPE_CHECKING:
    from athena.diagnosis import Diagnosis


def doctor(
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Check that everything works, and say what to do about what does not."""
    from athena.diagnosis import diagnose

    with opened(data_dir) as athena:
        diagnosis = diagnose(athena)
    show(as_json, diagnosis, lambda: doctor_text(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(1)


def doctor_text(diagnosis: Diagnosis) -> RenderableType:
    """Each check with a tick, a dash (it works without) or a cross, and how to fix it."""
    lines: list[RenderableType] = []
    for check in diagnosis.checks:
        mark = ("✗ ", "red") if not check.ok else ("– ", "yellow") if check.fix else ("✓ ", "green")
        lines.append(Text.assemble(mark, (f"{check.name}: ", "bold"), check.detail))
        if check.fix:
            lines.append(Text(f"    {check.fix}", style="dim" if check.ok else "yellow"))
    return Group(*lines)
