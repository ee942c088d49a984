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
        typer.Option(help="The store that is to have them."),
    ],
    force: Annotated[bool, typer.Option(help="Write over documents that read otherwise there.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy documents, conversations and memories to the other store; nothing is embedded again."""
    from athena.cli.progress import counter
    from athena.stores import copy_to

    with opened(data_dir) as athena, counter(err, quiet=as_json) as report:
        done = copy_to(to, athena.settings, athena.manifest, force=force, report=report)
    show(as_json, asdict(done), lambda: migration_text(done, to))


def migration_text(done: Migration, to: str) -> str:
    """How much was copied, and how to use it."""
    documents, conversations = (
        counted(done.documents, "document"),
        counted(done.conversations, "conversation"),
    )
    copied = f"{documents}, {conversations} and the memories of {counted(done.memories, 'user')} copied."
    return f"{copied}\nUse them with ATHENA_STORE={to}. Make keys for it with `athena keys add`."
