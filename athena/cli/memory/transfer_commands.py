"""What is remembered, taken along: `export`, `import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from athena.cli.memory.options import memory_of
from athena.cli.options import AsJson, DataDir, User
from athena.cli.running import show
from pipeline.errors import AthenaError
from pipeline.given_files import DATA_BYTES, read_given
from pipeline.words import harmless

NOTHING_NEW = "0 imported: all of it is there already."


def export(
    path: Annotated[Path | None, typer.Argument(help="A file to write; otherwise it is printed.")] = None,
    form: Annotated[
        Literal["json", "markdown"], typer.Option("--format", help="json can be imported.")
    ] = "json",
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write out all memories."""
    from memory import transfer

    with memory_of(user, data_dir) as memory:
        text = transfer.export(memory, form="json" if as_json else form)
        if path is None:
            text = harmless(text) if sys.stdout.isatty() and not as_json else text
            sys.stdout.write(text if text.endswith("\n") else text + "\n")
            return
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AthenaError(f"Cannot write '{path}': {error.strerror}.", "Name another file.") from error
        show(as_json, {"path": str(path)}, lambda: f"Written to {path}.")


def import_(
    path: Annotated[Path, typer.Argument(help="An export, or JSON with documents, metadatas and ids.")],
    user: User = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Take in an export, with the same ids and times; what is there already is left as it is."""
    from memory import transfer

    with memory_of(user, data_dir) as memory:
        try:
            data = read_given(path, most_bytes=DATA_BYTES)
        except OSError as error:
            raise AthenaError(f"Cannot read '{path}': {error.strerror}.", "Check the path.") from error
        except UnicodeDecodeError as error:
            raise AthenaError(
                f"'{path}' is not an export of memories: not UTF-8.", "Check the file."
            ) from error
        number = transfer.imported(memory, data)
        show(as_json, {"imported": number}, lambda: f"{number} imported." if number else NOTHING_NEW)
