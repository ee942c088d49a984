"""Files that are either old or new, never half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from mission.errors import SavedGameError


def write_atomically(path: Path, text: str) -> None:
    """Write beside the file and move the result into place; the folder is created.

    Raises `SavedGameError` where that is impossible.
    """
    try:
        _write(path, text)
    except OSError as error:
        raise SavedGameError(
            f"Cannot save '{path}': {error.strerror or error}.",
            "Free some space, make the folder writable, or name another data folder.",
        ) from error


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
