"""`athena migrate`: copy everything from one store into the other."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from athena.cli.options import AsJson, DataDir
from athena.cli.running import err, opened, show
from pipeline.words import counted

if TYPE_CHECKING:
    from pipeline.stores.migration import Migration


def migrate(
    to: Annotated[Literal["embedded", "server"], typer.Option(help="The store to copy into.")],
    force: Annotated[bool, typer.Option(help="Overwrite documents that differ there.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy documents, conversations and memories into the other store; nothing is embedded again."""
    from athena.cli.progress import counter
    from athena.stores import open_store
    from pipeline.stores import migration

    other = "server" if to == "embedded" else "embedded"
    with opened(data_dir) as athena, counter(err, quiet=as_json) as report:
        source, target = (
            open_store(athena.settings.model_copy(update={"store": name})) for name in (other, to)
        )
        with closing(source), closing(target):
            done = migration.Migration(
                migration.copy_documents(source, target, force=force, report=report),
                migration.copy_conversations(source.conversations, target.conversations, report=report),
                migration.copy_memories(source.memories, target.memories, report=report),
            )
    show(as_json, done, lambda: migration_text(done, to))


def migration_text(done: Migration, to: str) -> str:
    """Return how much was copied, and how to use it."""
    documents = counted(done.documents, "document")
    conversations = counted(done.conversations, "conversation")
    users = counted(done.memories, "user")
    copied = f"{documents}, {conversations} and the memories of {users} copied."
    return f"{copied}\nUse them with ATHENA_STORE={to}. Make keys for it with `athena keys add`."
