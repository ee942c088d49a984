"""`athena backup`: copy the SQLite file while Athena runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show
from pipeline.errors import ConfigurationError


def backup(
    file: Annotated[Path, typer.Argument(help="The copy, a file that does not exist yet.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Copy documents, conversations, memories and keys into one file, while others read and write.

    Put it back as `athena.sqlite` in an empty data folder: the index of words is made again from it.
    """
    from pipeline.stores.embedded import EmbeddedStore

    with opened(data_dir) as athena:
        if athena.settings.store == "server":
            raise ConfigurationError(
                "The servers are not backed up from here.",
                "See docs/server.md: use mongodump and Weaviate's backup.",
            )
        assert isinstance(athena.store, EmbeddedStore)  # noqa: S101  (the settings chose it)
        athena.store.database.backup(file)
    show(as_json, {"backup": str(file), "bytes": file.stat().st_size}, lambda: f"Saved as '{file}'.")
