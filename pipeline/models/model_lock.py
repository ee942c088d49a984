"""Which files a model from the hub is made of: its revision and their SHA-256, kept beside them.

Written down when the model is first fetched, and held to from then on: a later fetch asks for the same
revision, and a file that is not the one of then is not opened. The first fetch trusts the hub, but for its
own hashes of large files, which are compared; the default model's revision, a commit, is fixed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pipeline.errors import ModelUnavailable

FILE = "athena.lock.json"
FETCH_AGAIN = "Delete that folder, and fetch it again with `athena pull cross-encoder`."


@dataclass(frozen=True, slots=True)
class ModelLock:
    """A revision (the commit of the model's repository), and the SHA-256 of files by their path in it."""

    revision: str
    files: Mapping[str, str] = field(default_factory=dict)

    def check(self, folder: Path, names: Mapping[str, Path] | None = None) -> None:
        """Raise `ModelUnavailable` where a file in a folder, or one of these, is not the one of then."""
        for name, path in (names or {name: folder / name for name in self.files}).items():
            if name in self.files and path.is_file() and sha256(path) != self.files[name]:
                raise ModelUnavailable(
                    f"'{path}' is not the file that it should be: its SHA-256 is another.", FETCH_AGAIN
                )


def read_lock(folder: Path) -> ModelLock | None:
    """What was written down in a folder; None where nothing was."""
    try:
        return ModelLock(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise ModelUnavailable(f"Cannot read '{folder / FILE}': {error}.", FETCH_AGAIN) from error


def write_lock(folder: Path, lock: ModelLock) -> None:
    """Write it down."""
    (folder / FILE).write_text(json.dumps(asdict(lock), indent=2) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
