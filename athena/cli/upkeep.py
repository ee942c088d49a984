"""`athena doctor`, `backup`, `migrate` and `usage`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from athena.cli.running import AsJson, DataDir, counter, err, listed, opened, show
from pipeline.errors import ConfigurationError

if TYPE_CHECKING:
    from athena.diagnosis import Diagnosis

COLUMNS = ("turns", "answers", "abstentions", "tokens_in", "tokens_out", "estimated", "cost", "p95_s")


def doctor(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Check that everything works, and print how to fix each problem."""
    from athena.diagnosis import diagnose

    with opened(data_dir) as athena:
        diagnosis = diagnose(athena)
    show(as_json, diagnosis, lambda: doctor_text(diagnosis))
    if not diagnosis.ok:
        raise typer.Exit(1)


def doctor_text(diagnosis: Diagnosis) -> RenderableType:
    """Return each check with a tick, a dash (it works, with advice) or a cross, and how to fix it."""
    lines: list[RenderableType] = []
    for check in diagnosis.checks:
        mark = ("✗ ", "red") if not check.ok else ("– ", "yellow") if check.fix else ("✓ ", "green")
        lines.append(Text.assemble(mark, (f"{check.name}: ", "bold"), check.detail))
        if check.fix:
            lines.append(Text(f"    {check.fix}", style="dim" if check.ok else "yellow"))
    return Group(*lines)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy documents, conversations, memories and keys into one file, while others read and write.

    To restore it, put it as `athena.sqlite` into an empty data folder; the word index is rebuilt from it.
    """
    from pipeline.stores.embedded import EmbeddedStore

    with opened(data_dir) as athena:
        if athena.settings.store == "server":
            raise ConfigurationError(
                "The servers are not backed up from here.",
                "Copy MongoDB with mongodump: docs/server.md has the command. Weaviate needs no backup.",
            )
        assert isinstance(athena.store, EmbeddedStore)  # noqa: S101  (the settings chose it)
        athena.store.database.backup(file)
    show(as_json, {"backup": str(file), "bytes": file.stat().st_size}, lambda: f"Saved as '{file}'.")


def migrate(
    to: Annotated[Literal["embedded", "server"], typer.Option(help="The store to copy into.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy the documents, conversations and memories that store `--to` lacks, without embedding again."""
    from athena.components import open_store
    from pipeline.stores import migration

    other = "server" if to == "embedded" else "embedded"
    with opened(data_dir) as athena, counter(err, quiet=as_json) as report:
        source, target = (
            open_store(athena.settings.model_copy(update={"store": name})) for name in (other, to)
        )
        with closing(source), closing(target):
            done = {
                "documents": migration.copy_documents(source, target, report=report),
                "conversations": migration.copy_conversations(
                    source.conversations, target.conversations, report=report
                ),
                "users": migration.copy_memories(source.memories, target.memories, report=report),
            }
    use = f"Use them with ATHENA_STORE={to}. API keys are not copied: make new ones with `athena keys add`."
    show(as_json, done, lambda: Group(listed([done], [*done]), use))


def usage(
    by: Annotated[Literal["model", "day", "user"], typer.Option(help="What to group by.")] = "model",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count tokens, cost, answers and abstentions in the stored conversations."""
    from athena.usage import usage as count

    with opened(data_dir) as athena:
        found = count(athena.conversations, by)
    rows = [{by: key, **asdict(row)} for key, row in found.items()]
    show(as_json, found, lambda: listed(rows, (by, *COLUMNS)))
