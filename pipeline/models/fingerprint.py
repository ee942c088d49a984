"""Which file a model is: its SHA-256, known without reading it where it was written down beside it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pipeline.errors import ModelUnavailable


def file_fingerprint(path: Path) -> str:
    """The SHA-256 of a model file, hexadecimal; raises `ModelUnavailable` where it cannot be read.

    Reading the bundled model takes 30 to 50 ms, which every start of the program would pay: `FILE.json`
    beside it has its size and its hash, and counts while the file has that size.
    """
    try:
        note = path.with_name(f"{path.name}.json")
        if note.is_file():
            known = json.loads(note.read_text(encoding="utf-8"))
            if known["bytes"] == path.stat().st_size:
                return str(known["sha256"])
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(
            f"Cannot read the model file '{path}': {error.strerror or error}.",
            "Put it back, or choose another embedding model.",
        ) from error
