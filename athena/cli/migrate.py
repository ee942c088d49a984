"""`athena migrate`: from one store to the other."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from athena.cli.options import AsJson, DataDir
from athena.cli.running import err, opened, show
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.stores.migration import Migration


def migrate(
    to: Annotated[
        Literal["embedded", "server"],
        typer.Option(help="The store that is to have the index and conversations."),
    ],
    force: Annotated[bool, typer.Option(help="Write over documents that read otherwise there.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy the index and all conversations from one store to the other; nothing is embedded again."""
    from athena.cli.progress import counter

    with opened(data_dir) as athena, counter(err, quiet=as_json) as report:
        done = athena.migrate(to, force=force, report=report)
    show(as_json, asdict(done), lambda: migration_text(done, to))


def migration_text(done: Migration, to: str) -> str:
    """What a copy between stores did."""
    was = f"; {done.documents_unchanged:,} and {done.conversations_unchanged:,} were there"
    there = was if done.documents_unchanged or done.conversations_unchanged else ""
    documents, conversations = (
        counted(done.documents, "document"),
        counted(done.conversations, "conversation"),
    )
    return f"{documents} and {conversations} copied{there}.\nUse them with ATHENA_STORE={to}."
